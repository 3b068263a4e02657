package lexical

import "strings"

// functionWords holds the closed-class words (articles, pronouns, prepositions,
// conjunctions, auxiliaries) that give a language away, case folded as the tokenizer
// folds them, each with the set of languages that have it.
//
//nolint:gochecknoglobals // a table, written once while the package initialises and only read afterwards
var functionWords = buildFunctionWords()

func functionWordSet(word []byte) languageSet {
	if len(word) > maxFunctionWord {
		return 0
	}
	return functionWords[string(word)]
}

// maxFunctionWord is the length in bytes of the longest entry; it spares long words the
// look-up.
const maxFunctionWord = 14

func buildFunctionWords() map[string]languageSet {
	table := make(map[string]languageSet, 1200)
	for l := english; l < latinLanguages; l++ {
		for w := range strings.FieldsSeq(functionWordList(l)) {
			table[w] |= 1 << l
		}
	}
	return table
}

func functionWordList(l language) string {
	switch l {
	case english:
		return `a about after again against all also although am an and another any are as at be because been before
			being both but by can cannot cant could couldnt did didnt do does doesnt doing dont down during each
			either else ever every few for from further had hadnt has hasnt have havent having he her here hers
			herself him himself his how however i if im in into is isnt it its itself just me might more most must
			my myself neither no nor not now of off on once only onto or other our ours ourselves out over own same
			shall she should shouldnt since so some such than that the their theirs them themselves then there these
			they this those though through thus to too under until up upon us very was wasnt we were werent what
			when where whether which while who whom whose why will with within without wont would wouldnt yet you
			your yours yourself yourselves`
	case spanish:
		return `a al algo algún alguna algunas alguno algunos ante antes aquel aquella así aunque como cómo con contra
			cual cuál cuando cuándo cuánto de del desde donde dónde durante e el él ella ellas ellos en entre era
			eran es esa esas ese eso esos esta está están estas este esto estos estoy fue fueron ha había han hasta
			hay la las le les lo los más me mi mis mucho muy nada ni no nos nosotros o os otra otro para pero poco
			por porque que qué quien quién quiénes se sea ser si sí sin sobre son soy su sus también tan tengo ti
			tiene todo todos tu tú tus un una unas uno unos usted y yo`
	case french:
		return `à ai alors après au aucun aussi autre autres aux avant avec avoir avait c car ce ceci cela celle ces cet
			cette ceux chez comme comment d dans de depuis des donc du elle elles en encore entre es est et étaient
			était été être eu eux fait il ils j je jusque l la le les leur leurs lorsque lui m ma mais me même mes
			moi mon n ne ni nos notre nous on ont ou où par parce pas pendant peu plus pour pourquoi qu quand que
			quel quelle quelles quels qui s sa sans se ses si son sont sous suis sur t ta te tes toi ton tous tout
			toute toutes très tu un une vers vos votre vous y`
	case german:
		return `aber alle allem allen aller alles als also am an andere auch auf aus bei beim bin bis bist da damit dann
			das dass dein deine dem den denn der des dich die dies diese diesem diesen dieser dieses dir doch dort du
			durch ein eine einem einen einer eines er es euch für gegen gibt habe haben hat hatte hatten hier ich ihm
			ihn ihnen ihr ihre ihrem ihren im in ins ist ja jede jeder jedes jetzt kann kein keine können mein meine
			mich mir mit muss müssen nach nicht nichts noch nun nur ob oder ohne sehr seit sein seine sich sie sind so
			soll sollte über um und uns unser unter vom von vor wann war waren warum was weil welche welcher wenn wer
			werde werden wie wieder will wir wird wo wurde wurden zu zum zur zwischen`
	case portuguese:
		return `a à ainda além alguém algum alguma algumas alguns ante ao aos aquela aquele aqui as às até cada com como
			contra da das de dela dele deles depois desde do dos durante e é ela elas ele eles em enquanto então entre
			era eram essa esse esta está estão estas estava este estou eu foi for foram há isso isto já la lhe mais mas
			me mesmo meu meus minha minhas muito na não nas nem no nos nós nossa nosso num numa o onde os ou para pela
			pelas pelo pelos pois por porque porquê pra quais qual quando quanto que quê quem são se sem ser será seu
			seus só sobre sua suas também te tem têm tenho ter teu tinha tudo um uma umas uns você vocês`
	case italian:
		return `a ad agli ai al alla alle allo anche ancora che chi ci come con contro cosa così cui da dagli dai dal
			dalla dalle dallo degli dei del della delle dello di dopo dove e è ed era erano essere fa fra fu gli ha
			hai hanno ho i il in io la le lei li lo loro lui ma me mi mia mie miei mio molto ne negli nei nel nella
			nelle nello no noi non nostra nostro o ogni per perché più poi prima qual quale quali quando quanto
			quella quelle quelli quello questa queste questi questo qui sarà se sei sempre senza si sì sia siamo sono
			sopra sta sua sue sugli sui sul sulla sulle suo suoi te ti tra tu tua tuo tutti tutto un una uno vi voi`
	case dutch:
		return `aan al alle als altijd andere ben bij daar dan dat de deze die dit doch doen door dus een eens en er ge
			geen geweest haar had hadden hebben heb heeft hem het hier hij hoe hun iemand iets ik in is ja je jij jou
			jouw jullie kan kon kunnen maar me meer men met mij mijn moet moeten na naar niet niets nog nu of om omdat
			onder ons onze ook op over reeds te tegen toch toen tot u uit uw van veel voor waar waarom wanneer want
			waren was wat we wel welke werd wezen wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou`
	case turkish:
		return `acaba ama ancak artık aslında ayrıca bana bazı belki ben beni benim bir biri birkaç birçok biz bizim bu
			buna bunu bunun burada çok çünkü da daha de defa değil diye dolayı en fakat gibi göre hangi hatta hem henüz
			hep hepsi her hiç için ile ilgili ise kadar karşı kendi kez ki kim mı mi mu mü nasıl ne neden nedir nerede
			niçin niye o olan olarak oldu olduğu ona onlar onu onun oysa pek sana sen seni senin siz sizin sonra şey
			şu tüm üzere var ve veya yani yok zaman`
	case romanian:
		return `a acea aceasta această aceea acei acel acele acest acesta aceste acestea acestui acolo acum ai aici al
			ale am ar are as asta astfel atunci au avea ca că când căruia ce cea cel cele cine cu cum da dacă dar
			de deci deja din după e ea ei el ele era este eu fără fi fie fost iar îi îl îmi în între își îți la le lor
			lui mai mea meu mi mult ne nici nimic noi nostru nu o oare or pe pentru prin sa să sale sau se si și spre
			sub sunt ta tău te toate tot toți tu un una unde unei unor unui va voi vom vor vostru vreo`
	case swedish:
		return `alla allt än är att av bara blev bli blir då dag de deg dem den denna deras dess dessa det detta dig din
			där efter ej eller en er ett från för ha hade han hans har hela hennes här hon honom hur i icke in inom
			inte jag ju kan kunde man med mellan men mig min mina mot mycket när någon något några nu och om oss på sedan
			sig sin sina sitta själv ska skall skulle så sådan som till under upp ut utan vad var vara varför varit vem
			vi vid vilka vilken åt över`
	case danish:
		return `ad af aldrig alle alt at bare blev blive bliver da de dem den denne der deres det dette dig din dine dit
			disse dog du efter ej eller en er et for fordi fra få få gør ham han hans har havde have hendes her hos hun
			hvad hvem hver hvis hvor hvordan hvorfor hvornår i ikke ind jeg jer jo kan kunne lidt man mange med meget
			men mig min mine mit mod må ned når noget nogle nok nu og også om op os over på sig sin sine skal skulle
			som så til ud uden under var ved vi vil ville vor være været`
	case norwegian:
		return `alle at av bare begge ble blei bli blir blitt både båe da de deg dei deim deira den denne der dere deres
			det dette di din disse ditt du eg ein eit eitt eller elles en enn er et ett etter for fordi fra før ha
			hadde han hans har hennar henne hennes her hjå ho hun hva hvem hver hvilken hvis hvor hvordan hvorfor i
			ikke ikkje inn ja jeg kan kom kun kunne kva kvar man mange med meg meget mellom men mi min mine mitt mot
			mykje nå når noe noen nok og også om opp oss over på så sånn seg selv si sia sin sine sitt skal skulle som
			til um under upp ut uten var vår være vært ved vi vil ville vore vort`
	case finnish:
		return `ei eivät emme en että he heidän heillä hän hänen häntä ihan itse ja jo joka jolla jonka jos joten jotka
			jotta kaikki kanssa keitä ken kenen ketkä koska kuin kuinka kuka kun kyllä luona me meidän meille mikä miksi
			millä milloin minkä minulla minun minut minä missä mitkä mitä moni mukaan mutta myös ne niiden niin niitä
			noin nuo nyt näiden nämä ole olemme olen olet oli olin olisi olivat olla ollut on ovat poikki se sekä sen
			siellä siinä sillä sinä sinun sitten sitä tai te teidän tämä tämän tässä tuo vaan vai vaikka vain yli`
	case hungarian:
		return `a abban ahhoz ahogy aki akik akkor alatt által általában amely amelyek ami amit amíg annak arra át az
			azért azok azon azonban aztán azt be belül benne cikk csak de e eddig egész egy egyéb egyik egyre el első
			előtt én és ez ezek ezen ezért ezt fel felé ha hanem hiszen hogy hogyan igen így ilyen is ismét itt
			jól kell kellett keresztül ki kívül között közül le legyen lehet lenne lesz lett maga magát majd már más
			meg még mellett mely mert mi mikor mindig minden mint mintha mit mivel most nagy nagyon ne néha nekem neki
			nem nincs ő ők olyan ott össze pedig persze rá s saját sem semmi sok sokat számára szemben szerint szinte
			talán te tehát teljes több úgy új újra után utána vagy vagyok vala valaki valami van vannak vele viszont
			volna volt voltak`
	case russian, arabic, tamil, hindi: // told by their script
	}
	return ""
}
