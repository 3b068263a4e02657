package entity

// Titles and legal forms, folded. Those that are written on to a name stand apart.
const (
	titleWords = `dr drs prof professor professorin mr mrs ms miss mx sir madam madame herr herrn frau fräulein dipl-ing mme mlle monsieur
		mademoiselle docteur professeur señor señora señorita sr sra srta profesor profesora dra dott dottor dottoressa signor signora
		mevrouw meneer`
	// rankWords go before a person's name and are part of it, or of something else: General Motors.
	rankWords = `dame lord lady rev reverend father sister brother capt captain col colonel general sgt sergeant lt lieutenant major adm
		admiral judge justice senator president chancellor governor mayor minister king queen prince princess pope saint st uncle aunt auntie
		grandma grandpa coach chef doctor nurse officer detective agent inspector onkel tante oma opa bundeskanzler bundeskanzlerin kanzler
		kanzlerin oncle tío tía tio tia don doña doctor doctora avv m`
	articleWords = `the`
	legalForms   = `inc incorporated corp corporation co company ltd limited llc llp lp plc gmbh mbh ag kg kgaa ohg gbr ug se ev e.v
		eg sa s.a sas s.a.s sarl s.a.r.l srl s.r.l spa s.p.a sl s.l slu bv b.v nv n.v ab oy as a/s aps pty pte kk k.k pvt bhd
		llc. l.l.c s.l.u gmbh&co & sl.`
	attachedTitles   = `先生 さん さま 様 ちゃん くん 君 氏 殿 社長 部長 課長 教授 博士 선생님 교수님 사장님 대표님 과장님 부장님 팀장님 씨 님 女士 小姐 老师 老師 教授 医生 醫生 经理 經理 总 總`
	attachedForms    = `株式会社 有限会社 合同会社 有限公司 股份有限公司 주식회사`
	attachedPrefixes = `株式会社 有限会社 合同会社 주식회사`
)

// givenNames are given names that are rarely common words, folded.
const givenNames = `ada adam adrian agnes aisha alan albert alejandro alejandra alex alexander alexandra alexis alfred alice alicia
	alina alison allison amanda amelia amir amy ana anastasia anders andrea andreas andrew andré angela angelina anika anita anja
	anke ann anna anne annette annika anthony antje antoine anton antonia antonio arjun armin arthur astrid aurélie axel barbara
	bastian beatrice beatriz ben benedikt benjamin bernard bernd bernhard beth betty birgit björn bob boris brandon brenda brian
	bridget britta bruno camila camille carina carl carla carlos carmen carol carolin caroline cassandra catherine cecilia charles
	charlotte chiara chloé chloe chris christa christian christiane christina christine christoph christopher claire clara claudia
	clément cornelia craig cynthia daniel daniela daniele danielle dave david deborah denise dennis derek diana diane diego dieter
	dirk dmitri dominik donald donna doris dorothea dorothy douglas eduardo edward eileen elena eleanor eli elias elisabeth elise
	elizabeth ella ellen elsa emil emilia émilie emily emma enrique eric erik erika ernesto esteban esther eugene eva evelyn fabian
	fatima felicia felix félix fernanda fernando fiona florian france francesca francesco francis francisco françois françoise frank
	franz franziska fred frederick frédéric friedrich fritz gabriel gabriela gabriele gareth gary geoffrey georg george gerald gerd
	gerhard giovanni gisela giulia gloria gonzalo greg gregory greta guido guillaume günter günther gustavo hannah hannes hans harald
	harold harry hassan heather hector heidi heike heinrich heinz helen helena helene helga helmut henri henrik henry herbert hermann
	holger horst hugo ian ibrahim ignacio ines ingo ingrid irene isaac isabel isabella isabelle ivan jack jacob jacqueline jacques
	jakob james jamie jan jana jane janet janine jasmin jason javier jean jeff jeffrey jennifer jens jeremy jérôme jessica jill jim
	joachim joan joanna joão jochen joe johan johann johanna johannes john jon jonas jonathan jorge jörg josé josef joseph joshua juan
	juana judith jules julia julian juliane julie julien julio jürgen justin karen karim karin karl karla karsten katharina katherine
	kathleen kathrin kathryn katja katrin kate katie keith keiko kelly ken kenji kenneth kerstin kevin kim kirsten klaus konrad kristin
	kurt laetitia lara lars laura lauren laurence laurent lea léa lena lennart leo leon leonard leonie leslie liam linda linus lisa lola
	louis louise luca lucas lucía lucia luis luisa lukas lydia madeleine magdalena maike manfred manuel manuela marc marcel marco
	marcus margaret margarita margot maria maría mariana marie marina mario marion markus marlene marta martha martin martina mary
	mathias mathieu mathilde matteo matthew matthias maurice max maximilian maya megan mehmet mei melanie melissa michael michaela
	michel michelle miguel mike mila miriam mohamed mohammed mónica monica monika monique moritz nadia nadine naomi natalia natalie
	natasha nathalie nathan neil nicholas nick nico nicola nicolas nicole niels nils nina noah nora norbert octavia olaf oleg olga
	oliver olivia olivier omar oscar otto pablo paola patricia patrick paul paula pauline pedro penelope peter petra philip philipp
	philippe phoebe pierre priya quentin rachel raj ralf ralph ramón raquel raúl rebecca regina reiner renate rené ricardo richard
	rita robert roberto robin rodrigo roger roland rolf roman ronald rosa roswitha rüdiger rudolf ruth ryan sabine sabrina sally salvador
	samantha samir samuel sandra sandrine santiago sara sarah satoshi scott sean sebastian sébastien sergio sharon sheila sigrid silke
	silvia simon simone sofia sonia sonja sophia sophie stefan stefanie steffen stephan stephanie stéphane stephen steve steven stuart
	sunita susan susanne suzanne sven svenja sylvia sylvie takashi tamara tanja tanya tatiana teresa terry theo theodor théo theresa
	thierry thomas thorsten tim timo timothy tina tobias todd tom tomás torsten tracy tyler ulrich ulrike ursula ute uwe valentina valérie
	vanessa vera veronica veronika verónica victor victoria vincent virginia vivian volker walter waltraud wanda wendy werner wilhelm
	william wolfgang xavier ximena yannick yasmin yolanda youssef yuki yuri yusuf yves yvonne zoe zoé`

// ambiguousGiven are given names that are common words, months or places as well: a given name
// only where common words have no capital, and not where a sentence begins.
const ambiguousGiven = `will mark grace hope faith joy may june april rose lily art bill jack iris dawn summer jordan chase grant pat
	sue rob drew frank max sydney paris florence austin dallas chelsea victoria virginia georgia`

// unclearFirst are words from the lists that a sentence can begin with as common words.
const unclearFirst = `will mark grace hope faith joy may june april rose lily art bill iris dawn summer chase grant pat sue rob drew
	frank max turkey reading nice bath apple meta target oracle shell gap visa go rust swift discord notion slack zoom teams word
	excel access amazon python java ruby france polo essen hamm halle mobile buffalo orange lens tours cork split chad guinea
	general captain doctor miss father sister brother judge coach chef nurse officer agent major president king queen prince
	coach saint uncle aunt auntie grandma grandpa lola regina reason`

// places are countries, regions, cities, rivers and mountains, folded; _ joins the words of one.
const places = `afghanistan albania algeria argentina armenia australia austria azerbaijan bangladesh belarus belgium bolivia bosnia brazil
	bulgaria cambodia cameroon canada chad chile china colombia congo croatia cuba cyprus czechia denmark ecuador egypt england eritrea
	estonia ethiopia finland france georgia germany ghana greece guatemala guinea haiti honduras hungary iceland india indonesia iran
	iraq ireland israel italy jamaica japan jordan kazakhstan kenya korea kosovo kuwait laos latvia lebanon libya lithuania luxembourg
	madagascar malaysia mali malta mexico moldova mongolia montenegro morocco mozambique myanmar namibia nepal netherlands nicaragua
	niger nigeria norway oman pakistan panama paraguay peru philippines poland portugal qatar romania russia rwanda scotland senegal
	serbia singapore slovakia slovenia somalia spain sudan sweden switzerland syria taiwan tanzania thailand togo tunisia turkey uganda
	ukraine uruguay uzbekistan venezuela vietnam wales yemen zambia zimbabwe usa uk u.s u.k u.s.a uae europe asia africa antarctica
	america scandinavia bavaria catalonia andalusia tuscany provence brittany normandy quebec ontario alberta california texas florida
	alaska hawaii oregon nevada utah colorado arizona ohio michigan illinois georgia virginia massachusetts vermont maine alps andes
	himalayas pyrenees sahara thames danube rhine seine nile amazonas elbe
	new_york new_york_city los_angeles san_francisco san_diego san_jose las_vegas new_orleans washington_dc washington new_zealand
	new_jersey new_mexico north_carolina south_carolina south_africa south_korea north_korea saudi_arabia sri_lanka costa_rica
	el_salvador puerto_rico united_states united_kingdom united_nations_plaza great_britain northern_ireland hong_kong rio_de_janeiro
	buenos_aires mexico_city cape_town tel_aviv st_louis silicon_valley bay_area lake_tahoe black_forest
	london paris berlin madrid barcelona rome milan naples venice florence turin munich hamburg frankfurt cologne vienna zurich
	geneva basel bern brussels amsterdam rotterdam copenhagen stockholm oslo helsinki dublin edinburgh glasgow manchester liverpool
	birmingham bristol leeds oxford cambridge lisbon porto athens istanbul ankara moscow kyiv kiev warsaw krakow prague budapest
	bucharest sofia belgrade zagreb ljubljana bratislava tallinn riga vilnius tokyo osaka kyoto seoul busan beijing shanghai shenzhen
	guangzhou taipei bangkok hanoi jakarta manila delhi mumbai bangalore bengaluru chennai kolkata hyderabad karachi lahore dubai doha
	riyadh tehran baghdad beirut jerusalem cairo nairobi lagos accra johannesburg casablanca tunis algiers addis_ababa sydney
	melbourne brisbane perth auckland wellington toronto vancouver montreal ottawa calgary chicago boston seattle portland denver
	austin dallas houston miami atlanta philadelphia phoenix detroit minneapolis brooklyn manhattan queens havana lima bogotá bogota
	santiago quito caracas montevideo são_paulo sao_paulo brasília medellín guadalajara monterrey
	deutschland österreich schweiz frankreich spanien italien griechenland türkei polen ungarn tschechien dänemark schweden norwegen
	finnland niederlande belgien luxemburg russland ukraine großbritannien irland schottland japan südkorea indien brasilien mexiko
	kanada ägypten marokko südafrika australien neuseeland europa asien afrika amerika münchen köln wien zürich genf brüssel mailand
	rom venedig florenz neapel paris lissabon kopenhagen warschau prag moskau athen düsseldorf stuttgart leipzig dresden hannover
	nürnberg bremen dortmund essen duisburg bochum bonn münster mannheim karlsruhe augsburg wiesbaden freiburg heidelberg mainz kiel
	lübeck rostock erfurt jena potsdam magdeburg halle kassel aachen bielefeld wuppertal tübingen konstanz regensburg würzburg ulm
	salzburg graz linz innsbruck luzern bayern sachsen hessen thüringen brandenburg niedersachsen kreuzberg neukölln rhein donau
	bodensee ostsee nordsee schwarzwald alpen bad_homburg
	españa francia alemania inglaterra italia portugal grecia turquía suecia noruega dinamarca bélgica suiza austria polonia rusia
	ucrania japón corea méxico brasil perú panamá canadá marruecos egipto europa sudáfrica estados_unidos reino_unido sevilla valencia
	málaga bilbao zaragoza granada salamanca toledo londres parís berlín roma múnich lisboa bruselas ginebra cataluña andalucía galicia
	américa latinoamérica córdoba cádiz alicante mallorca ibiza tenerife
	espagne allemagne angleterre italie suisse belgique pologne russie grèce turquie suède norvège danemark japon chine inde brésil
	mexique maroc algérie tunisie égypte sénégal royaume-uni états-unis pays-bas lyon marseille toulouse bordeaux lille nantes nice
	strasbourg montpellier rennes grenoble dijon toulon bruxelles genève lausanne londres vienne bretagne normandie provence alsace
	corse québec montréal`

// organizations are firms and institutions, folded.
const organizations = `google microsoft apple amazon meta facebook netflix ibm intel nvidia amd oracle salesforce adobe cisco dell hp samsung
	sony nintendo toyota honda nissan hitachi panasonic siemens sap bmw volkswagen audi mercedes daimler porsche bosch bayer basf
	allianz lufthansa telekom adidas puma zalando ikea spotify ericsson nokia volvo philips shell unilever nestlé novartis roche
	airbus renault peugeot danone carrefour michelin orange telefónica santander inditex zara bbva repsol pemex openai anthropic
	deepmind mistral huggingface stripe paypal airbnb uber lyft tesla spacex boeing nasa fbi cia nsa nhs bbc cnn nbc cbs abc npr hbo
	nato unesco unicef who imf ecb opec un eu fda epa mit ucla eth caltech stanford harvard yale princeton cornell oxfam greenpeace
	accenture deloitte kpmg pwc mckinsey gartner atlassian gitlab canonical suse hashicorp cloudflare datadog snowflake databricks
	mongodb elastic alibaba tencent baidu huawei xiaomi bytedance foxconn tsmc hyundai kia infosys wipro tata reliance starbucks
	walmart costco target nike disney pixar marvel pfizer moderna merck dhl ups fedex aldi lidl rewe edeka penny deutsche_bahn
	deutsche_bank deutsche_telekom deutsche_post goldman_sachs morgan_stanley jpmorgan citibank hsbc ubs visa mastercard
	european_union united_nations red_cross world_bank new_york_times financial_times red_hat hugging_face y_combinator real_madrid
	fc_bayern bayern_münchen spd cdu csu fdp ard zdf tüv adac aok sncf edf lvmh cnrs rtve psoe`

// products are things that are sold or downloaded, folded.
const products = `iphone ipad macbook imac android windows linux ubuntu debian fedora macos ios postgres postgresql mysql sqlite redis
	kafka kubernetes docker terraform ansible jenkins github gitlab bitbucket jira confluence slack notion figma trello asana discord
	whatsapp telegram signal zoom skype youtube instagram tiktok twitter linkedin reddit wikipedia gmail outlook excel powerpoint
	photoshop firefox chrome safari chatgpt claude gemini copilot alexa siri kindle playstation xbox photoshop python golang java
	javascript typescript rust kotlin swift ruby php perl haskell scala react angular vue django rails numpy pandas pytorch tensorflow
	pgvector grafana prometheus elasticsearch mongodb dynamodb bigquery snowflake airpods thinkpad nespresso lego minecraft fortnite
	uber_eats google_maps google_docs google_drive apple_watch visual_studio vs_code model_y model_s microsoft_teams prius civic
	corolla golf tiguan duolingo strava peloton`

// events are occasions with a name, folded.
const events = `christmas easter halloween thanksgiving ramadan diwali hanukkah passover eid oktoberfest olympics super_bowl world_cup
	black_friday cyber_monday new_year_eve valentine weihnachten ostern pfingsten silvester fasching karneval navidad noël pâques
	burning_man coachella glastonbury wimbledon world_war_ii world_war`

// Words of the parts of names, folded.
const (
	orgWords = `university college institute institution school academy bank hospital clinic foundation society association agency
		ministry department bureau council committee commission union league club museum library laboratory labs lab group holdings
		partners systems technologies technology solutions industries motors airlines airways pharmaceuticals capital ventures
		media entertainment studios records press times post journal magazine church parliament congress senate court police
		restaurant bakery cafe café consulting analytics robotics software networks
		universität hochschule institut bank verein stiftung ministerium verlag krankenhaus klinik werke universidad instituto banco
		fundación ministerio hospital escuela colegio université école banque institut fondation ministère hôpital lycée musée
		museo orchestra philharmonic band team`
	placeWords = `street avenue road boulevard lane square river lake mountain mount mt island islands bay beach park forest valley
		airport station bridge castle palace county city town village district province peninsula ocean sea desert canyon harbor
		harbour cathedral tower hills heights gardens falls straße strasse platz allee bahnhof flughafen schloss brücke calle
		avenida plaza río lago isla ciudad aeropuerto rue avenue place lac montagne gare pont château forêt île`
	eventWords = `conference summit festival meetup olympics championship championships tournament marathon hackathon expo fair
		symposium workshop concert gala cup prix war revolution battle election awards con day week konferenz messe turnier
		conferencia feria congreso conférence salon festival foire biennale biennial triennial`
	productWords = `pro max ultra mini plus air os app api sdk edition phone watch server studio cloud engine framework`
	// ofWords are what "of" can follow in a name.
	ofWords = `university bank ministry house museum department church institute school battle king queen prince princess duke
		republic city isle gulf bay cape lord college academy temple tower ministry office bureau court state kingdom game
		lord knights guardians pirates call age world declaration bill board center centre palace district
		université banque ministère institut école musée hôpital ville universidad banco ministerio ciudad museo instituto real
		republica república isla palacio université gare tour château academia`
)

// Words around a name, folded.
const (
	personVerbs = `said says told tells asked asks replied likes loves hates prefers wants wanted lives lived works married joined
		moved thinks believes knows thinks suggested mentioned wrote called texted emailed promised agreed disagreed apologized
		introduced invited thanked laughed smiled owes dislikes enjoys remembers
		sagt sagte meint meinte wohnt heißt mag arbeitet fragte antwortete erzählte möchte
		dice dijo vive trabaja prefiere quiere opina gusta dit habite travaille préfère pense aime veut déteste`
	// personBefore are words before a person's name.
	personBefore = `friend colleague boss manager wife husband sister brother mother father mom dad son daughter girlfriend boyfriend
		partner neighbor neighbour roommate cousin dog cat puppy hire teacher coworker met meet call called ask asked tell told email named dear hi
		hello hey thanks thank with cc
		freund freundin kollege kollegin chef chefin bruder schwester nachbar nachbarin mann tochter sohn cousin hallo liebe lieber
		mutter vater
		amigo amiga hermano hermana jefe jefa colega hija hijo primo prima esposa esposo marido hola querida querido
		ami amie frère sœur collègue mari femme fille fils cousine bonjour chère cher salut voisin voisine`
	placeBefore = `in from near to via across outside inside visiting visited visit around toward towards
		aus nach en desde hacia à a vers depuis`
	orgBefore = `at for joined join with bei für chez por`
)
