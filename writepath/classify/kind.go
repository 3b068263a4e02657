package classify

// Kind says what a finding is. The list is closed and only ever grows.
type Kind string

// Secrets.
const (
	AWSAccessKey      Kind = "aws_access_key"
	AWSSecretKey      Kind = "aws_secret_key"
	AzureKey          Kind = "azure_key" // storage and bus keys, shared access signatures, application secrets
	GCPKey            Kind = "gcp_key"
	GoogleOAuth       Kind = "google_oauth"
	GitHubToken       Kind = "github_token"
	GitLabToken       Kind = "gitlab_token"
	SlackToken        Kind = "slack_token" // webhooks too
	StripeKey         Kind = "stripe_key"
	OpenAIKey         Kind = "openai_key"
	AnthropicKey      Kind = "anthropic_key"
	NPMToken          Kind = "npm_token"
	PyPIToken         Kind = "pypi_token"
	SendGridKey       Kind = "sendgrid_key"
	TwilioKey         Kind = "twilio_key"
	TelegramToken     Kind = "telegram_token"
	DigitalOceanToken Kind = "digitalocean_token"
	HuggingFaceToken  Kind = "huggingface_token"
	DatabricksToken   Kind = "databricks_token"
	DiscordToken      Kind = "discord_token" // webhooks too
	MemkernelKey      Kind = "memkernel_key"
	SaaSToken         Kind = "saas_token" // of any other service with a published shape
	JWT               Kind = "jwt"
	PrivateKey        Kind = "private_key"
	DatabasePassword  Kind = "database_password" // in a connection URL
	URLPassword       Kind = "url_password"      // in any other URL
	Authorization     Kind = "authorization"     // the value of an HTTP header
	Password          Kind = "password"
	APIKey            Kind = "api_key" // named a key, token or secret, of no known shape
	PasswordHash      Kind = "password_hash"
	SeedPhrase        Kind = "seed_phrase"
)

// Personal data.
const (
	PaymentCard   Kind = "payment_card"
	IBAN          Kind = "iban"
	Email         Kind = "email"
	Phone         Kind = "phone"
	IPAddress     Kind = "ip_address" // a public one
	DateOfBirth   Kind = "date_of_birth"
	StreetAddress Kind = "street_address" // with number and postal code
	Health        Kind = "health"
	Finance       Kind = "finance" // a person's income, debt or credit score
)

// National identifiers of persons, by ISO 3166 code.
const (
	AustralianTFN    Kind = "au_tfn"
	BelgianRRN       Kind = "be_rrn"
	BrazilianCPF     Kind = "br_cpf"
	CanadianSIN      Kind = "ca_sin"
	SwissAHV         Kind = "ch_ahv"
	ChileanRUT       Kind = "cl_rut"
	ChineseID        Kind = "cn_ric"
	CzechBirthNumber Kind = "cz_rc" // Slovakia too
	GermanTaxID      Kind = "de_steuerid"
	DanishCPR        Kind = "dk_cpr"
	SpanishDNI       Kind = "es_dni"
	SpanishNIE       Kind = "es_nie"
	FinnishHETU      Kind = "fi_hetu"
	FrenchNIR        Kind = "fr_nir"
	BritishNHS       Kind = "gb_nhs"
	BritishNINO      Kind = "gb_nino"
	IrishPPS         Kind = "ie_pps"
	IndianAadhaar    Kind = "in_aadhaar"
	IndianPAN        Kind = "in_pan"
	ItalianCF        Kind = "it_cf"
	JapaneseMyNumber Kind = "jp_mynumber"
	KoreanRRN        Kind = "kr_rrn"
	MexicanCURP      Kind = "mx_curp"
	DutchBSN         Kind = "nl_bsn"
	NorwegianFNR     Kind = "no_fnr"
	PolishPESEL      Kind = "pl_pesel"
	PortugueseNIF    Kind = "pt_nif"
	SwedishPNR       Kind = "se_pnr"
	SingaporeNRIC    Kind = "sg_nric"
	TurkishKimlik    Kind = "tr_kimlik"
	AmericanSSN      Kind = "us_ssn"
	SouthAfricanID   Kind = "za_id"
)

// Class groups kinds.
type Class string

// The classes.
const (
	ClassSecret     Class = "secret"
	ClassCard       Class = "card"
	ClassAccount    Class = "account"
	ClassNationalID Class = "national_id"
	ClassContact    Class = "contact" // electronic mail, telephone, street
	ClassOnline     Class = "online"
	ClassBirth      Class = "birth"
	ClassHealth     Class = "health"
	ClassFinance    Class = "finance"
)

// Class returns the group that k belongs to, empty for an unknown kind.
func (k Kind) Class() Class {
	switch k {
	case AWSAccessKey, AWSSecretKey, AzureKey, GCPKey, GoogleOAuth, GitHubToken, GitLabToken, SlackToken,
		StripeKey, OpenAIKey, AnthropicKey, NPMToken, PyPIToken, SendGridKey, TwilioKey, TelegramToken,
		DigitalOceanToken, HuggingFaceToken, DatabricksToken, DiscordToken, MemkernelKey, SaaSToken, JWT,
		PrivateKey, DatabasePassword, URLPassword, Authorization, Password, APIKey, PasswordHash, SeedPhrase:
		return ClassSecret
	case PaymentCard:
		return ClassCard
	case IBAN:
		return ClassAccount
	case Email, Phone, StreetAddress:
		return ClassContact
	case IPAddress:
		return ClassOnline
	case DateOfBirth:
		return ClassBirth
	case Health:
		return ClassHealth
	case Finance:
		return ClassFinance
	case AustralianTFN, BelgianRRN, BrazilianCPF, CanadianSIN, SwissAHV, ChileanRUT, ChineseID,
		CzechBirthNumber, GermanTaxID, DanishCPR, SpanishDNI, SpanishNIE, FinnishHETU, FrenchNIR, BritishNHS,
		BritishNINO, IrishPPS, IndianAadhaar, IndianPAN, ItalianCF, JapaneseMyNumber, KoreanRRN, MexicanCURP,
		DutchBSN, NorwegianFNR, PolishPESEL, PortugueseNIF, SwedishPNR, SingaporeNRIC, TurkishKimlik,
		AmericanSSN, SouthAfricanID:
		return ClassNationalID
	default:
		return ""
	}
}

// Secret reports whether a finding of the kind gives access to something.
func (k Kind) Secret() bool { return k.Class() == ClassSecret }

// subject reports whether a finding of the kind points to one person or account, so that an
// erasure can name it. A card number is not kept a second time for that.
func (k Kind) subject() bool {
	switch k.Class() {
	case ClassAccount, ClassNationalID, ClassOnline:
		return true
	default:
		return k == Email || k == Phone
	}
}
