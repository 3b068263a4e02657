package verify

import (
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// lexicon holds the words that the rules know, folded.
type lexicon struct {
	free         map[string]bool // need no evidence
	negations    map[string]bool
	negatesAfter map[string]bool // what stands behind them only
	conjunctions map[string]bool // begin a unit
	contrasts    map[string]bool // and a scope
	firstPerson  map[string]bool
	thirdPerson  map[string]bool
	possessives  map[string]bool // of the first person
	user         map[string]bool // the one who speaks, in a fact
	numbers      map[string]int
	months       map[string]int
	groups       map[string]int // forms and words that stand for each other
	gendered     []string       // stems of which -o and -a are two people
	relative     map[string]int // words that move a date, with how many days they may
	endings      map[string]bool
}

func newLexicon() *lexicon {
	l := &lexicon{
		free:         set(freeWords),
		negations:    set("not no never none nobody nothing neither nor cannot without stopped stop stops quit nicht nie niemals nichts niemand ohne weder aufgehort kein keine keinen keinem keiner keines nunca jamas nada nadie ningun ninguna ninguno sin tampoco deje dejo ne n jamais rien aucun aucune sans non arrete"),
		negatesAfter: set("without ohne sin sans"),
		conjunctions: set("and but however although whereas while und aber sondern doch wahrend y e pero sino aunque mientras et mais tandis or oder"),
		contrasts:    set("but however although whereas while aber sondern doch wahrend pero sino aunque mientras mais tandis"),
		firstPerson:  set("i ich yo je j"),
		thirdPerson:  set("he she him her his hers they them their you your er sie ihr ihm ihn ihre sein seine du dein deine el ella ellos su sus tu il elle lui leur son sa ses ton ta vous"),
		possessives:  set("my our mein meine unser unsere mi nuestro nuestra mon ma notre"),
		user:         set("user nutzer nutzerin nutzers benutzer usuario usuaria utilisateur utilisatrice"),
		numbers:      map[string]int{},
		months:       map[string]int{},
		groups:       map[string]int{},
		gendered:     strings.Fields("herman hij ti abuel amig prim novi espos sobrin niet sueg"),
		relative:     map[string]int{},
		endings:      set(wordEndings),
	}
	l.endings[""] = true
	for w := range l.negations {
		l.free[w] = true
	}
	for w := range l.conjunctions {
		l.free[w] = true
	}
	for line := range strings.Lines(numberWords) {
		for n, w := range strings.Fields(line) {
			if w != "-" {
				l.numbers[w] = n
			}
		}
	}
	for line := range strings.Lines(tensWords) {
		for n, w := range strings.Fields(line) {
			l.numbers[w] = 10 * (n + 2)
		}
	}
	for line := range strings.Lines(monthWords) {
		for n, w := range strings.Fields(line) {
			l.months[w] = n + 1
		}
	}
	n := 0
	for line := range strings.Lines(equivalents) {
		n++
		for w := range strings.FieldsSeq(line) {
			l.groups[w] = n
		}
	}
	for days, list := range map[int]string{
		3:   "today tonight yesterday tomorrow heute gestern morgen hoy ayer manana hier demain aujourd 今天 昨天 明天 今日 昨日 明日",
		16:  "week weekend monday tuesday wednesday thursday friday saturday sunday woche wochenende montag dienstag mittwoch donnerstag freitag samstag sonntag semana lunes martes miercoles jueves viernes sabado domingo semaine lundi mardi mercredi jeudi vendredi samedi dimanche days 上周 下周 上週 先週 来週",
		70:  "month months weeks monat monaten mes meses mois 上个月 下个月 先月 来月",
		760: "year years jahr jahre jahren ano anos an annee ans 去年 明年 今年 来年",
	} {
		for w := range strings.FieldsSeq(list) {
			l.relative[w] = days
		}
	}
	return l
}

func set(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// freeWords are function words, and words for the one who speaks and that he does.
const freeWords = `a about after again against all also am an any are as at be because been before being both by can could did do does
doing during each either else ever every few for from further had has have having he her here hers herself him himself his how i
if in into is it its itself just me might more most my myself now of off on once only onto other our ours ourselves out over own
same shall she should since so some such than that the their theirs them themselves then there these they this those through
to too under until up upon us very was we were what when where whether which who whom whose why will with within would yet you
your yours yourself m s re ve ll d really currently usually recently today yesterday tomorrow there's got ago longer anymore
any more still already quite rather
user user's users person speaker assistant author writer says said states stated mentions mentioned tells told reports reported
name named names called calls located someone named
al algo alguna alguno alguien ante antes aquel asi como con contra cual cuando de del desde donde durante el ella ellas ellos en entre era eran
es esa ese eso esta estan estas este esto estos estoy fue fueron ha habia han hasta hay la las le les lo los mas me mi mis muy
nos nosotros os otra otro para por porque que quien se sea ser si sobre son soy su sus tambien tan te ti todo todos tu tus un
una unas unos usted ya actualmente usuario usuaria persona dice dijo llama llamo llamado llamada hoy ayer he has hemos tengo
ai alors apres au aussi autre aux avant avec avoir avait c ca ce ceci cela celle ces cet cette ceux chez comme dans depuis des donc
du elle elles encore entre est etaient etait ete etre eux fait il ils j je jusque l leur leurs lorsque lui m ma meme mes moi mon
nos notre nous on ont ou par parce pas pendant peu plus pour pourquoi qu quand quel quelle qui s sa se ses si son sont sous suis
sur t ta te tes toi tous tout toute toutes tres une vers vos votre vous utilisateur utilisatrice personne dit appelle aujourd hui d
actuellement ai as avons
alle allem allen aller alles als also andere auch auf aus bei beim bin bis bist da damit dann das dass dein deine dem den denn der
deren des dich die dies diese diesem diesen dieser dieses dir dort durch ein eine einem einen einer eines er es euch fur gegen gibt
habe haben hat hatte hatten hier ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im ins ist ja jede jeder jedes jetzt kann konnen
man mein meine meinem meinen meiner mich mir mit muss nach noch nun nur ob sehr seit sein seine seinem seinen seiner selbst sich
sie sind soll sollte uber um uns unser unsere unter vom von vor wann war waren warum was weil welche wenn wer werde werden wie wieder
wir wird wo wurde wurden zu zum zur zwischen mehr heute gestern derzeit nutzer nutzerin benutzer sagt sagte heisst heiss namens nutzers benutzers
ユーザー`

// numberWords count from zero; a dash stands for a word that is something else too.
const numberWords = `zero - two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
null - zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn sechzehn siebzehn achtzehn neunzehn
cero - dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis diecisiete dieciocho diecinueve
- - deux trois quatre cinq - sept huit neuf dix onze douze treize quatorze quinze seize
- - twice`

//nolint:misspell // French
const tensWords = `twenty thirty forty fifty sixty seventy eighty ninety hundred
zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig hundert
veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien
vingt trente quarante cinquante soixante`

//nolint:misspell // French
const monthWords = `january february march april may june july august september october november december
jan feb mar apr may jun jul aug sep oct nov dec
januar februar marz april mai juni juli august september oktober november dezember
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre`

// wordEndings are what a word of these languages may change.
const wordEndings = `s es e n en er em r t st et est te ten tet d ed ing in ly y ies ied ic al ist ian
o a os as amos emos imos an on ar ir io ia ie i aba aban ado ada ados adas ido ida iendo ando zco ce
ais ait aient ez ent ons ee ees eux euse ant ne nes nen`

// equivalents are irregular forms and words that say the same of a person.
const equivalents = `like likes liked love loves loved enjoy enjoys enjoyed enjoying loving adore adores fond
buy buys bought buying purchase purchased purchases
go goes went gone going
child children kid kids
work works worked working job employed
begin begins began begun start started starts starting
live lives lived living reside resides resident
get gets received receive receives
make makes made making
take takes took taken taking
eat eats ate eaten eating
drink drinks drank drunk drinking
see sees saw seen
teach teaches taught teaching teacher
write writes wrote written writing writer
speak speaks spoke spoken speaking
run runs ran running
meet meets met meeting
become becomes became
leave leaves left leaving
break breaks broke broken
win wins won winning
sell sells sold selling
build builds built building
mother mom mum mama
father dad papa
husband hubby
marry married marries wedding
grow grew grown grows
fly flew flown flies flying
drive drove driven drives driving
sing sang sung sings singing
give gave given gives
know knew known knows
find found finds
own owns owned possess
movie movies film films
flat apartment
hate hates hated dislike dislikes detest
ill sick
happy glad
prefer prefers preferred prefiere prefiero
graduate graduated degree
bike bicycle
gehen geht ging gegangen gehe
essen esse isst ass gegessen
trinken trinke trinkt trank getrunken
fahren fahre fahrt fuhr gefahren
ziehen ziehe zieht zog gezogen umgezogen umzug
sprechen spreche spricht sprach gesprochen
lesen lese liest las gelesen
schreiben schreibe schreibt schrieb geschrieben
birthday birthdays born birthdate
geburtstag geboren geburtsdatum
dollar dollars usd
nehmen nehme nimmt nahm genommen
sehen sehe sieht sah gesehen
mogen mag mochte gern gerne liebe liebt
finden fand gefunden
beginnen begann begonnen beginnt angefangen
bekommen bekam bekommt
werden geworden
wohnen wohne wohnt lebe lebt leben
bruder bruder geschwister
ir voy va fui iba
hacer hago hace hizo
querer quiero quiere quiso
jugar juego juega jugaba
decir digo
tener tiene tienen tuvo tenia
dormir duermo duerme
nacer naci nacio nacido nacida cumpleanos
vivir vivo vive vivimos
beber bebo bebe
gustar gusta gustan encanta encantan
aller vais va alle
vivre vis vit vecu
boire bois boit bu
prendre prends prend pris
vouloir veux veut
venir viens vient venu venue
lire lis lit lu
naitre ne nee nait
aimer aime adore adorer adores
faire fais fait
devenir deviens devient devenu`
