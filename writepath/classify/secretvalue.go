package classify

import "strings"

// Bounds on the values that count, in bytes.
const (
	minPassword = 6
	maxPassword = 128
	minKey      = 16
)

func (s *scan) passwordAfter(h *hit) {
	v, ok := s.valueAfter(h)
	if !ok {
		return
	}
	name := s.text[h.start:h.end]
	if name == "PASS" && !s.bytes.has(s.text, h.start-1, underscore) {
		return // of a test
	}
	strict := isOneOf(strings.ToLower(name), "pass pw passe clave parola senha passwords haslo heslo")
	if s.plausiblePasswordValue(v, strict) {
		s.add(Password, weightNamed, v.start, v.end)
	}
}

// sorts counts what a value is written with.
type sorts struct{ lower, upper, digits, joints, symbols int }

func sortsOf(v string) (n sorts) {
	for i := range len(v) {
		switch c := v[i]; {
		case 'a' <= c && c <= 'z', c >= 0x80:
			n.lower++
		case 'A' <= c && c <= 'Z':
			n.upper++
		case '0' <= c && c <= '9':
			n.digits++
		case c == '-' || c == '_' || c == '.' || c == '/' || c == ' ':
			n.joints++
		default:
			n.symbols++
		}
	}
	return n
}

// plausiblePasswordValue reports whether a value named a password could be one. In prose and
// behind a loose separator a plain word is more likely to be said about the password than to
// be it, so there it takes digits or symbols.
func (s *scan) plausiblePasswordValue(v value, strict bool) bool {
	text := s.text[v.start:v.end]
	if len(text) < minPassword || len(text) > maxPassword || notSecretValue(text, v.quoted) {
		return false
	}
	n := sortsOf(text)
	letters := n.lower + n.upper
	if n.digits+n.symbols == 0 && strings.Contains(strings.ToLower(text), "passw") {
		return false // my-password, newPassword
	}
	switch {
	case v.quoted && strings.Contains(text, " "):
		return v.link >= spaced && n.digits+n.symbols > 0 && !strings.Contains(text, "=") && strings.TrimSpace(text) == text
	case letters == 0:
		return n.digits >= minPassword && n.joints == 0 && !strict
	case strict && strings.Contains(text, "="):
		return false
	case n.digits > 0:
		return !looksMeasured(text) && !namesMethod(text) && (!strict || n.symbols > 0 || n.upper > 0 && n.lower > 0 && (v.link == verb || !identifier(text, false)))
	case n.symbols > 0:
		return len(text) >= 8 && !strings.HasPrefix(text, "!")
	case strict:
		return false
	case v.quoted:
		return v.link == tight || v.link == spaced && (n.upper > 0 && n.lower > 0 || n.joints >= 2)
	default:
		return v.link == tight && n.joints == 0 && len(text) >= 8 && n.lower > 0 && s.endsStatement(v.end)
	}
}

// namesMethod reports whether v is the name of an algorithm or a protocol.
func namesMethod(v string) bool {
	switch strings.ToLower(v) {
	case "sha256", "sha512", "sha-256", "sha-512", "base64", "argon2", "argon2i", "argon2id", "pbkdf2", "utf-8", "oauth2", "oauth2.0",
		"scram-sha-256", "saml2", "saml2.0", "ldapv3", "python3":
		return true
	default:
		return false
	}
}

// endsStatement reports whether nothing follows on the line that would make the value part of
// a sentence or an expression.
func (s *scan) endsStatement(i int) bool {
	return i >= len(s.text) || strings.IndexByte("\n\r;&<", s.text[i]) >= 0
}

// looksMeasured reports whether v is a date, a version or a measure.
func looksMeasured(v string) bool {
	n := sortsOf(v)
	if len(v) >= 10 && v[4] == '-' && v[7] == '-' && n.digits >= 8 {
		return true
	}
	return v[0] == 'v' && n.lower == 1 && n.upper == 0 && n.symbols == 0 ||
		n.digits > 0 && n.upper == 0 && n.symbols == 0 && isOneOf(strings.TrimLeft(v, "0123456789-."), "chars characters bytes bits days seconds minutes hours ms")
}

// notSecretValue reports whether a value is a stand-in, or says where the secret is kept.
func notSecretValue(v string, quoted bool) bool {
	if placeholder(v) || standIn(v) {
		return true
	}
	switch v[0] {
	case '$', '%', '{', '<', '[', '(', '*', '@', '~':
		if v[0] != '$' && v[0] != '%' && v[0] != '*' && v[0] != '@' {
			return true
		}
		if rest := strings.Trim(v[1:], "{}()%"); rest == "" || v[0] == '$' && strings.Contains(rest, "/") || identifier(rest, true) && v[0] != '*' && (v[0] != '@' || sortsOf(rest).digits == 0) {
			return true
		}
	case '/', '.', '\\':
		return true
	case '&':
		return identifier(v[1:], false)
	}
	if hasAnyPrefix(v, "ENC[", "vault:", "op://", "arn:", "projects/", "secret/", "secrets/", "ssm:", "env:", "env.", "file:", "http://", "https://", "process.env", "os.") {
		return true
	}
	if quoted {
		return false
	}
	if n := strings.IndexAny(v, "([{"); n > 0 && identifier(strings.TrimLeft(v[:n], "&*"), false) {
		return true
	}
	return strings.Contains(v, ".") && identifier(v, false) && sortsOf(v).digits == 0 || upperIdentifier(v) ||
		strings.Contains(v, "_") && identifier(v, true) && sortsOf(v).digits == 0
}

// identifier reports whether v is written like a name in a program, with dots between names
// unless it is to be one name.
func identifier(v string, single bool) bool {
	for i := range len(v) {
		c := v[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && (i == 0 || (c < '0' || c > '9') && (c != '.' || single)) {
			return false
		}
	}
	return v != ""
}

// upperIdentifier reports whether v is the name of a constant or a variable of the
// environment.
func upperIdentifier(v string) bool {
	return strings.Contains(v, "_") && identifier(v, true) && strings.ToUpper(v) == v
}

// standIn reports whether v is a word that stands where a secret would.
func standIn(v string) bool {
	if len(v) > 24 {
		return false
	}
	switch strings.ToLower(strings.Trim(v, "!?.,;:()[]*_")) {
	case "required", "optional", "string", "none", "null", "nil", "undefined", "true", "false", "unset", "blank", "empty", "unknown",
		"n/a", "tbd", "tba", "varies", "default", "same":
		return true // no value
	case "missing", "invalid", "incorrect", "wrong", "expired", "unchanged", "hidden", "masked", "protected", "encrypted", "hashed",
		"disabled", "enabled":
		return true // said of one
	case "secret", "password", "passwd", "passwort", "token", "bearer", "basic", "username", "prompt", "stdin", "input", "varchar",
		"text", "bytes", "str", "secretstr":
		return true // a name or a type
	case "password1", "password123", "p@ssw0rd", "passw0rd", "testtest":
		return true // everybody's
	case "keyring", "keychain", "1password", "bitwarden", "lastpass", "keepass", "vault":
		return true // where it is kept
	default:
		return false
	}
}

func (s *scan) keyAfter(h *hit) {
	v, ok := s.valueAfter(h)
	if !ok {
		return
	}
	if n := strings.IndexByte(s.text[v.start:v.end], '@'); n > 0 && !v.quoted {
		v.end = v.start + n // the host of a URL
	}
	if kind := s.keyKind(h, s.text[v.start:v.end]); kind != "" && !notSecretValue(s.text[v.start:v.end], v.quoted) {
		s.add(kind, weightNamed, v.start, v.end)
	}
}

// keyKind says what a value named a key is; empty if it cannot be one.
func (s *scan) keyKind(h *hit, v string) Kind {
	if len(v) < minKey || strings.ContainsAny(v, " \t()[]{}") || readsAsName(v) || looksMeasured(v) || strings.Contains(v, "://") || s.publicKey(h) {
		return ""
	}
	n := sortsOf(v)
	if n.digits == 0 && n.symbols < 2 || n.lower+n.upper == 0 || entropy(v) < 3.0 {
		return ""
	}
	name := strings.ToLower(s.text[s.bytes.back(s.text, h.start, 32, alnumeric|underscore|dash|dot):h.end])
	name = strings.NewReplacer("-", "", "_", "").Replace(name)
	switch {
	case len(v) == 40 && (strings.Contains(name, "aws") || strings.Contains(name, "secretaccess") || s.secretAccess(h)):
		return AWSSecretKey
	case strings.HasSuffix(v, "=") && (strings.HasSuffix(name, "accountkey") || strings.HasSuffix(name, "accesskey")):
		return AzureKey
	default:
		return APIKey
	}
}

// readsAsName reports whether v reads like words and numbers put together, as names in programs
// do: the sort of its characters changes seldom.
func readsAsName(v string) bool {
	changes := 0
	for i := 1; i < len(v); i++ {
		a, b := sortsOf(v[i-1:i]), sortsOf(v[i:i+1])
		if a != b && (a.upper == 0 || b.lower == 0) {
			changes++
		}
	}
	return changes*100 < 23*len(v)
}

// secretAccess reports whether h begins or ends the name of the secret of an AWS key pair.
func (s *scan) secretAccess(h *hit) bool {
	around := strings.ToLower(s.text[max(0, h.start-8):min(len(s.text), h.end+12)])
	return strings.Contains(around, "secret_access_key") || strings.Contains(around, "secretaccesskey") || strings.Contains(around, "secret access key")
}

// publicKey reports whether the name says that the key may be known.
func (s *scan) publicKey(h *hit) bool {
	before := strings.ToLower(s.text[max(0, h.start-14):h.start])
	return strings.Contains(before, "public") || strings.Contains(before, "publish")
}

// pinAfter adds a number of four digits, or of up to six behind a verb. An Indian PIN code has
// six, and is no secret.
func (s *scan) pinAfter(h *hit) {
	named := *h
	if n := s.skipWord(s.skipAny(h.end, " ", 1), "code number nummer"); n > h.end+1 {
		named.end = n
		for named.end > h.end && s.text[named.end-1] == ' ' {
			named.end--
		}
	}
	v, ok := s.valueAfter(&named)
	if !ok || !onlyOf(s.bytes, s.text[v.start:v.end], digit) {
		return
	}
	if n := v.end - v.start; n == 4 || v.link == verb && n <= 6 && n > 4 && named.end == h.end {
		s.add(Password, weightNamed, v.start, v.end)
	}
}
