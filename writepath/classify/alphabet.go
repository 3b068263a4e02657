package classify

// alphabet is a set of bytes, by the parts that key formats are made of.
type alphabet uint16

// The parts. Those from high on only tell whether a text needs a closer look.
const (
	digit2to7  alphabet = 1 << iota // 2-7
	digitOther                      // 0 1 8 9
	lowerHex                        // a-f
	lowerOther                      // g-z
	upperHex                        // A-F
	upperOther                      // G-Z
	underscore
	dash
	dot
	slash // / and +
	equals
	tilde
	at
	colon
	mark // < [ { ( # $ |, which begin what imitates markup
	high // not ASCII

	digit     = digit2to7 | digitOther
	lowerCase = lowerHex | lowerOther
	upperCase = upperHex | upperOther
	letter    = lowerCase | upperCase
	alnumeric = letter | digit
	// inKey are the bytes that keys, addresses and URLs are written with.
	inKey = alnumeric | underscore | dash | dot | slash | equals | tilde | colon | at
)

// alphabets tells the parts that each byte belongs to.
type alphabets [256]alphabet

func newAlphabets() *alphabets {
	var a alphabets
	add := func(chars string, part alphabet) {
		for i := range len(chars) {
			a[chars[i]] |= part
		}
	}
	add("234567", digit2to7)
	add("0189", digitOther)
	add("abcdef", lowerHex)
	add("ghijklmnopqrstuvwxyz", lowerOther)
	add("ABCDEF", upperHex)
	add("GHIJKLMNOPQRSTUVWXYZ", upperOther)
	add("_", underscore)
	add("-", dash)
	add(".", dot)
	add("/+", slash)
	add("=", equals)
	add("~", tilde)
	add("@", at)
	add(":", colon)
	add("<[{(#$|", mark)
	for b := 0x80; b < 0x100; b++ {
		a[b] |= high
	}
	return &a
}

// has reports whether s has a byte of the set at i; a place outside of s has none.
func (a *alphabets) has(s string, i int, set alphabet) bool {
	return i >= 0 && i < len(s) && a[s[i]]&set != 0
}

// run returns the end of the run of bytes of the set that begins at i, at most limit long.
func (a *alphabets) run(s string, i, limit int, set alphabet) int {
	end := min(len(s), i+limit)
	for i < end && a[s[i]]&set != 0 {
		i++
	}
	return i
}

// back returns the start of the run of bytes of the set that ends at i, at most limit long.
func (a *alphabets) back(s string, i, limit int, set alphabet) int {
	end := max(0, i-limit)
	for i > end && a[s[i-1]]&set != 0 {
		i--
	}
	return i
}

// survey is what a first look at a text tells: which rules can apply at all.
type survey struct {
	present alphabet
	digits  int
	// longest is the length of the longest run of bytes of inKey.
	longest int
}

func (a *alphabets) survey(s string) survey {
	var v survey
	run := 0
	for i := range len(s) {
		p := a[s[i]]
		v.present |= p
		if p&inKey == 0 {
			run = 0
			continue
		}
		run++
		v.longest = max(v.longest, run)
		if p&digit != 0 {
			v.digits++
		}
	}
	return v
}
