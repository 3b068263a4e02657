package classify

// wordClass is a set of words that mean the same to a rule.
type wordClass uint8

// Words about values: what they are called, and what is said of them.
const (
	wordFiller    wordClass = iota // may stand between a name and its value
	wordReference                  // names a number that is nobody's
	wordVersion                    // names a dotted number that is no address
	wordAt                         // stands for @ when written in brackets
	wordPassword
	wordKeyName  // names a key or a token
	wordNotValue // ends a name whose value is not the secret: password_length
	wordPIN
	wordSeed
	wordPurpose // begins what a password is for
	wordBearer
	wordBasic
	wordCurl
	wordCard
	wordPhone
	wordCall
	wordIP
	wordBirth
	wordSSH
	wordMessageID
	wordStreet    // behind a name: Main Street
	wordRue       // before a name: rue des Lilas
	wordNotPerson // a birth that is no person's
)

// Names of national identifiers.
const (
	nameTFN wordClass = wordNotPerson + 1 + iota
	nameRRN
	nameCPF
	nameSIN
	nameAHV
	nameRUT
	nameChinese
	nameCzech
	nameGerman
	nameCPR
	nameDNI
	nameNIE
	nameHETU
	nameNIR
	nameNHS
	nameNINO
	namePPS
	nameAadhaar
	namePAN
	nameCF
	nameMyNumber
	nameKorean
	nameCURP
	nameBSN
	nameNorwegian
	namePESEL
	nameNIF
	nameSwedish
	nameNRIC
	nameTurkish
	nameSSN
	nameSouthAfrican
)

// vocabulary lists the words of each class, folded; _ joins a pair. Words about people and
// about instructions are in files of their own.
func vocabulary() map[wordClass]string {
	v := map[wordClass]string{
		wordFiller: `no nr num number numbers numero nummer id ids is was of the a ist lautet est es code e was are
			card account personal new old my her his their current called say says line at on de der die das`,
		wordReference: `order orders invoice part sku model serial tracking ticket case ref reference commit build isbn issn
			ean upc gtin imei iccid lot batch po rma shipment parcel page room timestamp epoch catalogue catalog flight
			section chapter port revision rev row rows line customer_number article item product bestellung
			bestellnummer auftrag rechnung rechnungsnummer sendungsnummer artikelnummer commande facture pedido factura
			ordine fattura bestelling factuur booking reservation confirmation transaction bug issue pr job run seed
			offset hash checksum request trace session device build_number part_number serial_number`,
		wordVersion: `version versions v ver release releases build firmware driver kernel upgrade update section oid
			chapter clause patch agent chrome firefox safari`,
		wordAt: `at`,
		wordPassword: `password passwords passwd pwd pw pass passphrase passcode passwort passworter kennwort zugangscode passe
			contrasena clave senha wachtwoord parola haslo losenord passord adgangskode salasana heslo jelszo sifre
			pgpassword dbpassword dbpass rootpassword userpassword adminpassword mypassword sshpass
			keypassword storepassword пароль пароля 密码 密碼 パスワード 비밀번호 암호`,
		wordKeyName: `apikey apikeys api_key access_key secret_key secret secrets client_secret auth_token access_token
			refresh_token session_token api_token token authtoken accesstoken private_key encryption_key signing_key
			master_key account_key accountkey shared_key storage_key service_key consumer_secret webhook_secret app_secret
			license_key credential credentials api_secret secretkey clientsecret app_key deploy_key auth_key authkey
			subscription_key hmac_key 密钥 トークン`,
		wordNotValue: `length len min max count policy id name file path url uri type field input hint reset expiry expires
			expired ttl manager protected based store ref env var required rotation age rules strength size limit limits
			budget bucket version prefix format confirmation usage hash algorithm encryption conn connection string dsn`,
		wordPIN:     `pin pins pincode geheimzahl`,
		wordSeed:    `seed_phrase recovery_phrase seed_words mnemonic backup_phrase wallet_phrase mnemonic_phrase`,
		wordPurpose: `for of to on at in fur vom zum zur pour du de para da do per di voor til for_the`,
		wordBearer:  `bearer`,
		wordBasic:   `basic`,
		wordCurl:    `curl wget`,
		wordCard: `card cards visa mastercard amex maestro discover jcb creditcard kreditkarte karte carte tarjeta carta cartao
			pan cc debit unionpay diners`,
		wordPhone: `phone phones telephone tel mobile cell cellphone fax landline handy telefon telefonnummer handynummer
			rufnummer mobil mobilnummer mobiltelefon telefone telefono celular movil cellulare telemovel telefoon
			mobiel portable gsm telefax telefonu тел телефон телефона мобильный 电话 電話 手机 手機 手机号码 手机号
			携帯 電話番号 携帯番号 전화 전화번호 휴대폰 핸드폰`,
		wordCall: `call call_me ring text_me text_her text_him text_us dial reach reach_me sms whatsapp whats contact phone anrufen ruf appelle appelez appeler llama llamar
			chiama liga ligar bellen viber`,
		wordIP:        `ip ips ipv4 ipv6 address host client server login logged peer gateway remote addr adresse visitor`,
		wordBirth:     birthWords,
		wordNotPerson: `company startup brand product project idea band city restaurant app song`,
		wordSSH:       `ssh scp sftp rsync mosh`,
		wordMessageID: `message_id reply_to references`,
		wordStreet: `street st avenue ave road rd boulevard blvd lane ln drive dr court ct terrace ter place pl way circle cir
			highway hwy parkway pkwy square sq close crescent gardens mews row grove hill walk`,
		wordRue: `rue avenue boulevard chemin allee impasse quai cours calle via viale piazza plaza avenida corso rua paseo
			carrer rond`,

		nameTFN:     `tfn tax_file`,
		nameRRN:     `rijksregisternummer rijksregister numero_national registre_national insz niss national_number`,
		nameCPF:     `cpf`,
		nameSIN:     `sin social_insurance`,
		nameAHV:     `ahv avs ahvn ahv_nummer`,
		nameRUT:     `rut`,
		nameChinese: `身份证 身份证号 身份证号码 身分證 公民身份号码 resident_id identity_card id_card citizen_id`,
		nameCzech:   `rodne_cislo rodneho_cisla birth_number`,
		nameGerman: `steuerid steuer_id steueridentifikationsnummer identifikationsnummer idnr tax_id tin steueridnr
			steuer_idnr id_nr`,
		nameCPR:          `cpr cpr_nummer cpr_nr personnummer`,
		nameDNI:          `dni nif`,
		nameNIE:          `nie`,
		nameHETU:         `henkilotunnus hetu henkilotunnukseni`,
		nameNIR:          `nir securite_sociale secu insee`,
		nameNHS:          `nhs nhs_number`,
		nameNINO:         `nino national_insurance ni_no ni_number`,
		namePPS:          `pps ppsn pps_number`,
		nameAadhaar:      `aadhaar aadhar uidai आधार`,
		namePAN:          `pan_card pan_number pan_no permanent_account`,
		nameCF:           `codice_fiscale`,
		nameMyNumber:     `my_number マイナンバー 個人番号`,
		nameKorean:       `주민등록번호 주민번호 rrn resident_registration`,
		nameCURP:         `curp`,
		nameBSN:          `bsn burgerservicenummer sofinummer citizen_service`,
		nameNorwegian:    `fodselsnummer personnummer fnr`,
		namePESEL:        `pesel peselu`,
		nameNIF:          `nif contribuinte`,
		nameSwedish:      `personnummer personnr personal_number`,
		nameNRIC:         `nric fin`,
		nameTurkish:      `kimlik tckn tc_kimlik`,
		nameSSN:          `ssn ssns social_security itin`,
		nameSouthAfrican: `african_id id_number sa_id rsa_id identity_number`,
	}
	for class, words := range personVocabulary() {
		v[class] = words
	}
	for class, words := range instructionVocabulary() {
		v[class] = words
	}
	return v
}

const birthWords = `born_on born dob birthdate birthday of_birth birth_date geboren geburtsdatum geburtstag ne_le nee_le
	naissance nacimiento nacio nacido nacida nato_il nata_il nascita nascido nascida nascimento geboortedatum fodd
	fodelsedatum fodelsedag fodt urodzony urodzona urodzenia родился родилась рождения dogum 出生 出生日期 生年月日 생년월일`
