package entity

// Type says what sort of thing a name stands for, as far as can be guessed. The list is closed.
type Type string

// The types.
const (
	Person       Type = "person"
	Organization Type = "organization"
	Place        Type = "place"
	Product      Type = "product"
	Event        Type = "event"
	Email        Type = "email"
	URL          Type = "url"
	Handle       Type = "handle"
	Identifier   Type = "identifier"
	// Other is a name of which no more is known.
	Other Type = "other"
)

// Types returns all types.
func Types() []Type {
	return []Type{Person, Organization, Place, Product, Event, Email, URL, Handle, Identifier, Other}
}

// Valid reports whether t is one of the types above.
func (t Type) Valid() bool {
	switch t {
	case Person, Organization, Place, Product, Event, Email, URL, Handle, Identifier, Other:
		return true
	default:
		return false
	}
}

// formal reports whether names of the type are recognised by their form and written one way.
func (t Type) formal() bool {
	switch t {
	case Email, URL, Handle, Identifier:
		return true
	default:
		return false
	}
}

// fits reports whether one thing can be of both types: a guess may be missing, not wrong.
func (t Type) fits(u Type) bool {
	return t == u || t == Other && !u.formal() || u == Other && !t.formal()
}

// Confidence is how sure it is that a mention names something.
type Confidence string

// The classes of confidence.
const (
	// Certain is given away by its form: an address, a link.
	Certain Confidence = "certain"
	// Likely is given away by a word list, a title or a legal form, or stands in capitals in
	// a language and a place where common words do not.
	Likely Confidence = "likely"
	// Possible has one weak sign.
	Possible Confidence = "possible"
)

// Mention is a name in a text.
type Mention struct {
	// Start and End are byte offsets into the text: text[Start:End] == Surface.
	Start, End int
	// Surface is the name as the text has it.
	Surface string
	// Type is a guess.
	Type Type
	// Confidence is how sure it is that this is a name at all.
	Confidence Confidence
}

const (
	// MaxMentions is how many mentions Recognise returns at most, the first ones of a text.
	MaxMentions = 512
	// MaxName is the length of the longest name that is recognised, in bytes.
	MaxName = 200
)
