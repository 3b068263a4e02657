package classify

import "strings"

// Words of texts that pretend to be instructions.
const (
	beginsPhrase wordClass = wordMonth + 1 + iota // any word that begins a phrase
	beginsPair                                    // any word that begins a pair of words
	wordReports                                   // before a verb: no order, a report of one
	wordIgnore
	wordIgnoreLast // in languages that put the verb last
	wordPrior
	wordAll
	wordRules
	wordWeakRules // rules of many other things
	wordEverything
	wordTold
	wordMine
	wordYou
	wordYouAre
	wordNow
	wordPersona
	wordAct
	wordWithout
	wordLimits
	wordReveal
	wordYour
	wordPrompt
	wordSecretPrompt
	wordVerbatim
	wordSend
	wordAllOf
	wordValuables
	wordNotTell
	wordUser
	wordThis
	wordAddress
	wordModel
	wordMust
	wordIf
	wordReading
	wordBegin
	wordTurn
	wordInput
	wordOrderKey
	wordDirective
	wordOverride
	wordMode
)

//nolint:misspell // words of many languages
func instructionVocabulary() map[wordClass]string {
	return map[wordClass]string{
		wordReports: `to not never don doesn didn won cannot cant i we he she they it who will would often sometimes people
			users may might could can shouldn wouldn did does that which always rather without zu nicht ne pas no non`,
		wordIgnore: `ignore disregard forget override bypass discard neglect overlook ignoriere ignorier ignorieren ignoriert
			vergiss vergesst missachte ignorez oublie oubliez ignora ignoren ignorad olvida olviden ignorate dimentica
			dimenticate ignorem esqueca desconsidere negeer vergeet игнорируй игнорируйте проигнорируй проигнорируйте
			забудь забудьте ігноруй zignoruj ignoruj zapomnij ignorera glom bortse تجاهل انس abaikan lupakan bo_qua
			忽略 无视 無視 忘记 忘記 忽视`,
		wordIgnoreLast: `yok_say dikkate_alma unut अनदेखा नजरअंदाज 無視 无视 忽略 忘れて 무시 무시하고 무시하세요 잊어`,
		wordPrior: `previous prior above preceding earlier foregoing your former existing original system safety previously
			vorherigen vorherige bisherigen vorigen obigen deine precedentes precedente anterieures dessus anteriores
			previas previos precedenti vorige eerdere bovenstaande предыдущие предыдущих прошлые попередні poprzednie
			onceki tidigare foregaende forrige السابقة पिछले sebelumnya truoc 之前 以前 上面 以上 上述 先前 これまで 上記
			前の 이전 위의`,
		wordAll: `all alle toutes todas tutte все wszystkie alla جميع सभी 所有 すべて 全ての 모든`,
		wordRules: `instruction instructions prompt prompts directive directives guidelines programming anweisung anweisungen
			instruktionen consignes instrucciones istruzioni instrucoes instructies инструкции инструкций инструкция
			указания інструкції polecenia instrukcje talimatlari talimatlar talimati instruktioner التعليمات निर्देशों
			निर्देश 指令 指示 提示 指示を 指示词 지시 지시를 지시사항 지침`,
		wordWeakRules: `directions rules commands constraints restrictions safeguards orders policies regeln vorgaben befehle regles
			reglas ordenes regole regras ordens regels правила команды regler الأوامر 规则 規則 命令 명령`,
		wordEverything: `everything anything whatever alles tout todo tutto всё`,
		wordTold:       `told instructed trained programmed`,
		wordMine:       `my our mine meine unsere mes mis mie meus mijn мои`,
		wordYou:        `you your du dein vous tu usted`,
		wordYouAre:     `you_are you_re du_bist vous_etes tu_es eres sei`,
		wordNow:        `now jetzt maintenant ahora ora agora`,
		wordPersona:    `dan jailbroken unrestricted uncensored unfiltered unaligned omnipotent uneingeschrankt`,
		wordMode:       `evil root sudo maintenance debug developer unlocked admin god`,
		wordAct:        `pretend act behave respond answer roleplay simulate imagine operate`,
		wordWithout:    `no without free zero ignoring`,
		wordLimits: `restrictions limits limitations filters rules guidelines constraints safeguards censorship ethics
			guardrails policies`,
		wordReveal: `reveal print repeat output leak dump disclose expose show display tell recite gib zeige affiche muestra`,
		wordYour:   `your deine deinen deines ton tes votre tu tus tuo tuoi seu`,
		wordPrompt: `instructions prompt rules guidelines configuration programming`,
		wordSecretPrompt: `system_prompt systemprompt initial_prompt hidden_prompt initial_instructions hidden_instructions
			secret_instructions system_message system_instructions developer_message original_instructions
			original_prompt`,
		wordVerbatim: `verbatim word_for exactly full entire`,
		wordSend:     `send forward post upload exfiltrate transmit leak submit email mail deliver append`,
		wordAllOf:    `all every your user users any the_user entire complete`,
		wordValuables: `password passwords api_key api_keys keys credentials secrets tokens private_key private_keys
			conversation_history chat_history conversation conversations memories memory user_data personal_data environment cookies
			messages history contents`,
		wordNotTell: `not_tell not_inform not_mention not_reveal not_disclose t_tell t_inform t_mention t_reveal t_disclose
			never_tell never_inform never_mention never_reveal dont_tell dont_mention`,
		wordUser:    `user users human operator owner`,
		wordThis:    `this that about it these`,
		wordAddress: `attention note notice message important warning`,
		wordModel: `ai llm chatbot gpt chatgpt claude gemini copilot ai_assistant ai_agent language_model ai_model llms
			ais assistant`,
		wordMust:      `must ignore delete reveal obey instead disregard forget`,
		wordIf:        `if`,
		wordReading:   `reading processing summarizing summarising parsing seeing evaluating reviewing`,
		wordBegin:     `begin start end beginning`,
		wordTurn:      `system user tool context assistant developer new trusted untrusted`,
		wordInput:     `prompt input instructions message output context instruction document data`,
		wordOrderKey:  `order_key orderkey`,
		wordDirective: `policy_directive`,
		wordOverride:  `override overrides`,
	}
}

func instructionPhrases() []phrase {
	order := func(gap int, steps ...wordClass) phrase {
		return phrase{steps: steps, gap: gap, command: true, unless: wordMine}
	}
	said := func(gap int, steps ...wordClass) phrase { return phrase{steps: steps, gap: gap} }
	where := func(p phrase, then condition) phrase {
		p.then = then
		return p
	}
	return []phrase{
		order(3, wordIgnore, wordPrior, wordRules),
		order(3, wordIgnore, wordPrior, wordWeakRules),
		order(2, wordIgnore, wordAll, wordRules),
		order(2, wordIgnore, wordRules, wordPrior),
		order(2, wordIgnore, wordWeakRules, wordPrior),
		order(3, wordPrior, wordRules, wordIgnoreLast),
		order(3, wordAll, wordRules, wordIgnoreLast),
		order(3, wordIgnore, wordEverything, wordTold),
		order(3, wordYouAre, wordPersona),
		order(2, wordYouAre, wordNow, wordPersona),
		order(2, wordYouAre, wordNow, wordMode),
		order(3, wordAct, wordWithout, wordLimits),
		order(3, wordReveal, wordYour, wordSecretPrompt),
		order(3, wordReveal, wordSecretPrompt, wordVerbatim),
		order(2, wordReveal, wordYour, wordPrompt, wordVerbatim),
		order(3, wordIgnore, wordSecretPrompt),
		where(order(4, wordSend, wordAllOf, wordValuables), thenAddressee),
		said(1, wordNotTell, wordUser, wordThis),
		said(2, wordNotTell, wordThis, wordUser),
		said(2, wordAddress, wordModel, wordYou, wordMust),
		said(1, wordAddress, wordModel, wordIgnore),
		said(3, wordIf, wordModel, wordReading),
		{steps: []wordClass{wordBegin, wordTurn, wordInput}, gap: 2, capitals: true},
		where(said(0, wordOrderKey), thenValue),
		where(said(0, wordDirective), asBlock),
		{steps: []wordClass{wordTurn, wordOverride}, gap: 0, capitals: true, then: asHead},
	}
}

// sentAway returns end if an address stands behind what is to be sent, or 0.
func (s *scan) sentAway(end int) int {
	rest := s.text[end:min(len(s.text), end+80)]
	if strings.Contains(rest, "://") || strings.Contains(rest, "@") || strings.Contains(rest, "www.") {
		return end
	}
	return 0
}

// keyOfBlock returns end if the name of an order key has the value of one, or 0.
func (s *scan) keyOfBlock(end int) int {
	i := s.skipAny(s.skipAny(end, `"' `, 3), ":= ", 3)
	i = s.skipAny(i, `"'`, 1)
	if i > end && s.bytes.has(s.text, i, digit) && s.bytes.has(s.text, i+1, dash) && s.bytes.has(s.text, i+2, letter) {
		return end
	}
	return 0
}

// heads returns end if the words begin a line and a colon or the end of the line follows, or 0.
func (s *scan) heads(start, end int) int {
	rest := strings.TrimLeft(s.text[end:min(len(s.text), end+4)], " *]")
	if s.beginsLine(start) && (rest == "" || strings.IndexByte(":\n\r!-", rest[0]) >= 0) {
		return end
	}
	return 0
}

// presentedAsBlock returns end if the words stand as the kind or the head of a block, or 0.
func (s *scan) presentedAsBlock(start, end int) int {
	head := s.text[start:end]
	if start > 0 && strings.IndexByte(`"'[<(`, s.text[start-1]) >= 0 || strings.ToUpper(head) == head {
		return end
	}
	return 0
}
