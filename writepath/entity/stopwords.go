package entity

// englishWords are words that begin English sentences, or have a capital for another reason,
// and name nothing, folded.
const englishWords = `a about above absolutely according across actually add after again against ago agreed ah all almost alone along already
	alright also although always am amazing among an and another any anybody anyone anything anyway anyways apart apparently are aren't
	around as ask assuming at avoid awesome back bad basically be because become been before began behind being believe below best better
	between beyond big both bring brilliant build but buy by bye call came can can't cannot care certainly change check choose clearly click
	close come coming compared congrats congratulations consider contact continue cool copy correct could couldn't create currently daily
	dear definitely delete depending despite did didn't do does doesn't doing don't done down draft due during each earlier early easy edit
	either else email enjoy enough ensure especially even eventually ever every everybody everyone everything exactly except excellent
	excuse explain extra fair false far fascinating fast feel few fewer figure final finally find fine first fix follow following for forget
	fortunately forward from full funny further furthermore generally get getting give given giving glad go god going gone good goodbye got
	gotcha great guess guys had half happy hard has hasn't have haven't having he he'd he'll he's hello help hence her here here's hers hey hi
	his hmm hold hopefully how how's however huge i i'd i'll i'm i've if imagine important in include indeed inside instead interesting into is
	isn't it it'd it'll it's its itself just keep kind know last lastly late lately later least leave left less let let's like likely list
	listen literally little live long look looking looks lot lots love luckily made mainly make making many marry maybe me mean meanwhile
	meet meeting might mine miss more moreover most mostly mother move much must my myself near nearly need neither never nevertheless new
	next nice no nobody none nope nor normally not note nothing now nowadays obviously of off often oh ok okay old on once one ones only onto
	oops open or order other others otherwise ouch our ours out outside over overall own particularly past pay people perfect perhaps
	personally pick place plan plans play please plus point possibly post probably problem put question quick quite rather read reading ready
	really recently regarding regardless remember remind reply reportedly right run sad said same save say says see seems send sent set several
	shall she she'd she'll she's short should shouldn't show sign similarly simply since sir small so some somebody somehow someone something
	sometimes somewhere soon sorry sounds speaking specifically start starting stay still stop strange such suddenly suggest super sure
	surely surprisingly take talk tell ten test text than thank thanks that that'd that's the their theirs them then there there's therefore
	these they they'd they'll they're they've thing things think thinking this those though thought three through throughout thus till time
	to today together told tomorrow tonight too total toward true truly try trying turn two type typically ugh under unfortunately unless
	unlike until up update upon us use used using usually very via visit visiting wait want wanted warning was wasn't watch way we we'd we'll
	we're we've welcome well went were weren't what what's whatever when whenever where whereas wherever whether which while who who's whoever
	whole whom whose why will wish with within without won't wonderful work working works worse worst would wouldn't wow write wrong yeah year
	years yep yes yesterday yet you you'd you'll you're you've your yours yourself
	breakfast lunch dinner coffee tea water food music money weather traffic management customers users everyone's teachers students parents
	kids children dogs cats friends family mom dad mum grandma grandpa winter spring summer autumn fall morning afternoon evening night
	mondays tuesdays wednesdays thursdays fridays saturdays sundays
	monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november
	december mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec
	english german french spanish italian portuguese dutch russian chinese japanese korean arabic turkish polish greek hebrew hindi latin
	swedish norwegian danish finnish european american african asian british irish scottish welsh canadian australian mexican brazilian
	indian austrian swiss belgian ukrainian thai vietnamese jewish christian muslim catholic buddhist californian parisian
	internet web ai wifi wi-fi tv id pm am bc ad ps pps eta faq fyi asap lol omg btw imo imho tbd tba rsvp diy ceo cto cfo coo hr pr qa ui ux
	api apis url urls http https html css json xml yaml csv pdf sql tcp udp ip dns ssh ssl tls vpn cpu gpu ram rom usb ssd hdd lan gps sms mms
	sdk ide cli gui os pc ci cd etl crud rest rpc grpc jwt oauth sso mfa llm llms nlp ml rag okr okrs kpi kpis roi mvp poc sla slo saas b2b
	b2c crm erp gdpr hipaa pii dna rna covid hiv adhd iq bmi mri ct ekg phd mba bsc msc ba ma jr sr todo todos wip tldr tl dr nda eur usd gbp
	chf jpy utc gmt cet cest est pst edt pdt ascii utf uuid regex acl rbac ttl orm iot vat iban faqs rip ama afaik iirc nsfw dj mc vip
	section chapter figure table step part phase version level room floor page appendix question answer note q a re fwd cc bcc subject
	sincerely regards cheers best kind yours
	mr mrs ms dr prof grew grandma turns turned sure entities entity system user assistant`

// germanWords are the German words that begin sentences, and nouns that stand without an
// article or before a name, folded.
const germanWords = `ab aber alle alles als also am an auch auf aus außerdem bald bei beide beim bereits besonders bestimmt bis bitte da dabei
	dadurch dafür dagegen daher damals damit danach danke dann daran darauf darüber darum das dass dazu dein deine deinem deinen dem den denn
	der deren des deshalb dessen deswegen die dies diese diesem diesen dieser dieses doch dort du durch eben egal ein eine einem einen einer
	eines einfach einige einmal endlich entweder er erst es etwas euch euer eure falls fast für ganz gar gegen gehört genau gern gerne gestern
	gibt gleich guten gut hab habe haben hallo hast hat hatte hatten heute hey hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren immer in
	indem irgendwann irgendwie ist ja jede jedem jeden jeder jedes jemand jetzt kann kannst kein keine keinem keinen klar könnte können könntest
	lass laut leider letzte letzten liebe lieber lieben mal man manche manchmal mein meine meinem meinen meiner mich mir mit morgen muss müssen
	nach nachdem nachher nächste nächsten natürlich neben nein nicht nichts nie niemand noch nun nur ob obwohl oder oft ohne sag schade schau
	schick schon schön sehr seid sein seine seinem seinen seiner seit seitdem sie sind so sobald sogar soll sollen sollte sonst soweit sowie
	später statt stimmt tja tschüss trotz trotzdem über übrigens um und uns unser unsere unserem unseren unter viel viele vielen vielleicht vom
	von vor vorher während wann war waren warum was weder wegen weil weiter weißt welche welcher wem wen wenn wer werde werden weshalb wie
	wieder wieso will willst wir wird wirklich wo woher wohin wollen wollte würde würden zu zuerst zum zur zwar zwei zwischen zuletzt
	montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag januar februar märz april mai juni juli august september oktober
	november dezember herr frau herrn anfang ende mitte morgen abend mittag nachmittag vormittag nacht
	mama papa mutter vater oma opa tante onkel bruder schwester kollege kollegin chef chefin leute kinder eltern freunde freund freundin
	ordnung hause zukunft ruhe zusammenarbeit kraft angst versehen feierabend bedarf regen problemen holz wirklichkeit deutsch englisch
	französisch spanisch italienisch richtung rente urlaub arbeit schule bett form stimmung zeit bezug echtzeit kürze betrieb frage planung
	absprache wunsch plan möglichkeit spaß liebe lust glück hilfe papier glas metall plastik gold silber fragen interesse schmerzen fieber
	kaffee tee milch zucker wasser brot butter käse wein bier kuchen tasse stück meter liter kilo euro prozent uhr minuten stunden tage
	wochen monate jahre kind hund katze auto haus wohnung projekt besprechung termin meeting team e-mail email datei server datenbank
	sommer herbst winter frühling wochenende ferien weihnachtsgeld gott`

// romanceWords are the French, Spanish and Italian words that begin sentences, folded.
const romanceWords = `a à ainsi alors après au aucun aujourd'hui aussi autre aux avant avec avez avons beaucoup bien bientôt bon bonjour bonne
	bonsoir c ça car ce ceci cela celle celui ces c'est cet cette chaque chez comme comment d dans de demain depuis des désolé deux donc du elle
	elles en encore enfin ensuite entre est et être eux fait hier ici il ils j j'ai j'aime je jusqu'à l la là le les leur leurs lui lundi
	ma mais malheureusement mardi même mercredi merci mes moi mon n ne ni non nos notre nous on or ou où oui par parce parfois pas pendant
	personne peut-être plus plusieurs pour pourquoi pourtant puis puisque qu quand que quel quelle quelqu'un quelque quels qui quoi rien s sa
	salut sans se selon ses si soit son sont sous souvent sur t ta tes toi ton toujours tous tout toute toutes tous très trop tu un une vendredi
	vers voici voilà vos votre vous samedi dimanche jeudi madame monsieur janvier février mars avril mai juin juillet août septembre octobre
	novembre décembre maman papa jamais
	acaba además adiós ahora al algo alguien algún alguna algunos allí ante antes aquel aquella aquí así aún aunque ayer bajo bastante bien buen
	buena buenas bueno buenos cada casi como cómo con contra cual cuál cuando cuándo cuánto dale de del desde después dile donde dónde durante
	e el él ella ellas ellos en entonces entre era eres es esa ese eso esta está estaba estamos están este esto estos estoy fue fueron gracias
	gusta ha había hace hacia han hasta hay he hemos hola hoy incluso jamás la las le les lo los luego mañana más me mejor menos mi mí mientras
	mis mismo mucho mucha muchas muchos muy nada nadie necesito ni ningún ninguna no nos nosotros nuestra nuestro nunca o os otra otro para
	parece pero por porque posiblemente primero pronto pues que qué quién quien quiero quizá quizás recuerda se según ser será si sí siempre
	sin sino sobre solo sólo son soy su sus tal también tampoco tan te tengo tiene tienen toda todas todavía todo todos tras tu tú tus un una
	unas uno unos usted ustedes va vale vamos varios ver vez voy y ya yo lunes martes miércoles jueves viernes sábado domingo enero febrero
	marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre mamá papá señor señora
	il lo gli i un una uno ma perché quando come dove chi che non sono sei è siamo ciao grazie oggi domani ieri anche molto`

// Function words by which the language of a text is guessed, folded.
const (
	germanSigns  = `der die das und ist ich nicht ein eine zu mit auf für von dem den im wir sie er es sich auch war hat habe bei aus nach wie noch nur am zum zur mein meine wird sind kommt uns wenn`
	frenchSigns  = `le la les et est je pas un une à avec pour du des dans nous il elle sur qui que au ce mon ma chez sont ont mais aux`
	spanishSigns = `el la los las y es yo no un una a con para del en nosotros él ella que al mi su se por lo está son pero muy`
	englishSigns = `the and is i not a an to with on for of in we he she it that was are my at from by be has have this you they but`
)

// germanDeterminers are what stands before a common noun and seldom before a name, folded.
const germanDeterminers = `der die das dem den des ein eine einen einem einer eines mein meine meinen meinem meiner dein deine deinen deinem sein
	seine seinen seinem seiner ihr ihre ihren ihrem ihrer unser unsere unseren unserem unserer euer eure kein keine keinen keinem keiner
	dieser diese dieses diesen diesem jeder jede jedes jeden jedem welcher welche welches alle viele einige mehrere beide zwei drei vier fünf
	im am zum zur beim vom ins ans aufs fürs viel wenig mehr etwas manche solche`

// germanNounEndings are what common nouns end in and names seldom.
const germanNounEndings = `ung ungen heit heiten keit keiten schaft schaften tion tionen tät täten nis nisse chen ismus ment mente enz anz ur
	tum ling linge ei sal sel`

// placesCJK, orgsCJK, titlesCJK and surnames serve the scripts that have no capitals.
const (
	placesCJK = `東京 京都 大阪 横浜 名古屋 札幌 福岡 神戸 広島 仙台 沖縄 北海道 渋谷 新宿 日本 中国 韓国 台湾 香港 北京 上海 深圳 广州 廣州 杭州 成都 武汉 南京 西安
		重庆 天津 台北 高雄 美国 美國 英国 英國 法国 法國 德国 德國 东京 新加坡 アメリカ イギリス フランス ドイツ イタリア スペイン パリ ロンドン ベルリン ニューヨーク
		서울 부산 인천 대구 대전 광주 제주 제주도 한국 일본 중국 미국 도쿄 파리 런던 베를린 뉴욕`
	orgsCJK = `トヨタ ソニー 任天堂 日産 ホンダ 楽天 グーグル アップル マイクロソフト 东京大学 東京大学 京都大学 清华大学 北京大学 阿里巴巴 腾讯 百度 华为 小米 字节跳动
		삼성 삼성전자 현대 네이버 카카오 구글 애플 谷歌 微软 苹果公司`
	surnames = `王 李 张 張 刘 劉 陈 陳 杨 楊 黄 黃 赵 趙 吴 吳 周 徐 孙 孫 马 馬 朱 胡 郭 何 林 高 罗 羅 郑 鄭 梁 谢 謝 宋 唐 许 許 韩 韓 邓 鄧 冯 馮 曹 彭 曾
		肖 田 董 潘 袁 蔡 蒋 余 于 杜 叶 葉 程 魏 苏 蘇 吕 丁 任 卢 姚 沈 钟 姜 崔 谭 陆 范 汪 廖 石 金 贾 夏 付 方 邹 熊 白 孟 秦 邱 侯 江 尹 薛 闫 段 雷 龙 史 陶 贺 顾 毛 郝 龚 邵 万 钱 严`
)
