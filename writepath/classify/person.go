package classify

import "strings"

// Words about a person's health and money.
const (
	wordOwn wordClass = nameSouthAfrican + 1 + iota
	wordPerson
	wordDiagnosed
	wordSuffer
	wordHave
	wordTake
	wordCondition
	wordIll // said of a person
	wordTreatment
	wordTopic // after it, an illness is a subject, not a state
	wordHIV
	wordPositive
	wordICD
	wordPay
	wordEarn
	wordDebt
	wordScore
	wordMonth
)

func personVocabulary() map[wordClass]string {
	return map[wordClass]string{
		wordOwn: `my his her their our mein meine meiner meinem ihr ihre sein seine mon ma mes sa ses mi su sus mio mia
			suo sua meu minha zijn haar mijn`,
		wordPerson:    `i he she patient patients`,
		wordDiagnosed: `diagnosed diagnosis diagnose diagnostiziert diagnostique diagnosticado diagnosticada diagnosticato`,
		wordSuffer:    `suffer suffers suffered suffering leidet leide litt souffre souffrait sufre padece soffre sofre lijdt`,
		wordHave:      `have has had having am is got an atteint atteinte tiene tengo est hat habe ist`,
		wordTake:      `prescribed takes taking take took nimmt prend toma injects is_on am_on are_on i_m_on`,
		wordCondition: `diabetes diabetic depression asthma epilepsy schizophrenia bipolar adhd autism autistic hepatitis
			leukemia leukaemia lymphoma melanoma parkinson parkinsons alzheimer alzheimers dementia crohn crohns lupus
			endometriosis miscarriage arthritis hypertension copd psoriasis migraine migraines ptsd anorexia bulimia
			alcoholism celiac coeliac sclerosis cancer hiv aids anxiety tuberculosis fibromyalgia anemia stroke
			pregnant tumor tumour syphilis gonorrhea chlamydia herpes cirrhosis glaucoma osteoporosis
			krebs asthmatiker epilepsie depressionen brustkrebs schwanger demenz multiple_sklerose
			diabete asthme cancer_du depression_nerveuse sida enceinte epilepsia asma depresion embarazada
			cancro incinta depressione`,
		wordIll: `diabetic pregnant epileptic autistic schizophrenic anorexic alcoholic asthmatic hospitalized hospitalised
			diabetiker diabetikerin schwanger diabetique enceinte diabetico diabetica embarazada incinta`,
		wordTreatment: `chemotherapy chemo radiotherapy dialysis insulin antidepressants sertraline fluoxetine citalopram
			escitalopram venlafaxine metformin lithium methadone warfarin lisinopril atorvastatin levothyroxine
			prednisone methotrexate clozapine quetiapine olanzapine risperidone lorazepam diazepam alprazolam
			oxycodone tramadol buprenorphine antiretrovirals ozempic semaglutide prozac zoloft xanax ritalin
			adderall abortion colonoscopy mastectomy biopsy chemotherapie chimiotherapie quimioterapia`,
		wordTopic: `research study studies charity talk book article paper fund awareness conference prevention drug
			drugs lecture report policy data dataset statistics about awareness_week ward clinic hospital walk run
			marathon foundation dictionary screening campaign trial trials topic documentary film market of_luck of_genius depression_of stroke_of not no never`,
		wordHIV:      `hiv hepatitis std sti`,
		wordPositive: `positive positiv`,
		wordICD:      `icd`,
		wordPay: `salary income wage wages pay bonus pension paycheck gehalt einkommen lohn salaire salario sueldo
			stipendio revenu net_worth savings`,
		wordEarn:  `earn earns earned verdient verdiene gagne gana guadagna`,
		wordDebt:  `debt debts mortgage loan overdraft schulden hypothek dette dettes deuda hipoteca`,
		wordMonth: monthWords,
		wordScore: `credit_score schufa_score fico_score credit_rating`,
	}
}

func personPhrases() []phrase {
	health := func(gap int, steps ...wordClass) phrase {
		return phrase{steps: steps, gap: gap, kind: Health, unless: wordTopic}
	}
	money := func(gap int, steps ...wordClass) phrase {
		return phrase{steps: steps, gap: gap, kind: Finance, then: thenAmount}
	}
	score := phrase{steps: []wordClass{wordOwn, wordScore}, gap: 1, kind: Finance, then: thenCreditScore}
	return []phrase{
		health(5, wordDiagnosed, wordCondition),
		health(4, wordSuffer, wordCondition),
		health(2, wordOwn, wordCondition),
		health(1, wordOwn, wordTreatment),
		health(3, wordTake, wordTreatment),
		health(3, wordPerson, wordHave, wordCondition),
		health(1, wordHave, wordIll),
		health(0, wordHIV, wordPositive),
		{steps: []wordClass{wordICD}, kind: Health, then: thenICDCode},
		money(2, wordOwn, wordPay),
		money(2, wordOwn, wordDebt),
		money(0, wordPerson, wordEarn),
		score,
	}
}

// icdCode returns the end of a diagnosis code such as F32.1 behind the name of the list.
func (s *scan) icdCode(end int) int {
	for i := end; i < min(len(s.text), end+14); i++ {
		if s.bytes.has(s.text, i, upperCase) && !s.bytes.has(s.text, i-1, alnumeric) &&
			s.bytes.has(s.text, i+1, digit) && s.bytes.has(s.text, i+2, digit) {
			stop := i + 3
			if s.bytes.has(s.text, stop, dot) && s.bytes.has(s.text, stop+1, digit) {
				stop = s.bytes.run(s.text, stop+1, 4, digit)
			}
			if !s.bytes.has(s.text, stop, alnumeric) {
				return stop
			}
		}
	}
	return 0
}

// maxAmountGap is how far behind what it is for an amount may stand.
const maxAmountGap = 32

// amount returns the end of a sum of money behind end, in the same sentence.
func (s *scan) amount(end int) int {
	for i := end; i < min(len(s.text), end+maxAmountGap); i++ {
		switch {
		case s.text[i] == '\n' || s.text[i] == ';':
			return 0
		case s.bytes.has(s.text, i, digit):
			from := i
			i = s.bytes.run(s.text, i, 16, digit|dot)
			for s.bytes.has(s.text, i+1, digit) && strings.IndexByte(", '", s.text[i]) >= 0 {
				i = s.bytes.run(s.text, i+1, 16, digit|dot)
			}
			if s.bytes.has(s.text, i, letter) && lowerASCII(s.text[i]) == 'k' {
				i++
			}
			if stop := currencyAfter(s.text, i); stop > 0 {
				return stop
			}
			if currencyBefore(s.text, from) {
				return i
			}
			return 0
		}
	}
	return 0
}

func currencyBefore(text string, i int) bool {
	before := strings.TrimRight(text[max(0, i-5):i], " ")
	for _, mark := range []string{"$", "€", "£", "¥", "₹", "EUR", "USD", "GBP", "CHF", "R$", "zł", "kr"} {
		if strings.HasSuffix(before, mark) {
			return true
		}
	}
	return false
}

// currencyAfter returns the end of a currency that stands at i, or 0.
func currencyAfter(text string, i int) int {
	rest := strings.TrimLeft(text[i:min(len(text), i+16)], " ")
	skipped := min(len(text), i+16) - i - len(rest)
	for _, mark := range []string{"€", "$", "£", "EUR", "USD", "GBP", "CHF", "euros", "euro", "Euro", "dollars", "pounds", "zł", "kr", "PLN", "SEK", "yen"} {
		if strings.HasPrefix(rest, mark) {
			return i + skipped + len(mark)
		}
	}
	return 0
}

// creditScore returns the end of a score from 300 to 900 behind end.
func (s *scan) creditScore(end int) int {
	for i := end; i < min(len(s.text), end+16); i++ {
		if s.bytes.has(s.text, i, digit) {
			stop := s.bytes.run(s.text, i, 4, digit)
			if stop-i == 3 && s.text[i] >= '3' && s.text[i] <= '9' {
				return stop
			}
			return 0
		}
	}
	return 0
}
