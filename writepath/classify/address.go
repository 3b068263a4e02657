package classify

import "strings"

// minAddressDigits is how many digits an address has at least: 8 Mill Lane, CB2 1RX.
const minAddressDigits = 3

// Bounds on the parts of a street address, in bytes.
const (
	maxStreet   = 48 // before the word for street
	maxPostCode = 64 // behind it
)

// findAddresses looks for streets with a number and a postal code: in the American and
// British order, and in that of the European continent.
func (s *scan) findAddresses() {
	for i := range s.hits {
		h := &s.hits[i]
		if h.set.has(wordStreet) {
			s.numberedStreet(h)
		}
		if h.set.has(wordRue) {
			s.rue(h)
		}
	}
	s.findStreetWords()
}

// numberedStreet adds "742 Evergreen Terrace, Springfield, OR 97403" and "27 Orchard Road,
// Bristol BS8 1QU", from the word for street.
func (s *scan) numberedStreet(h *hit) {
	start := s.houseNumberBefore(h.start)
	if start < 0 {
		return
	}
	limit := min(len(s.text), h.end+maxPostCode)
	for i := h.end; i < limit; i++ {
		if s.bytes.has(s.text, i-1, alnumeric) || !s.bytes.has(s.text, i, upperCase) {
			if s.text[i] == '\n' && i+1 < limit && s.text[i+1] == '\n' {
				return
			}
			continue
		}
		if end := s.stateAndZIP(i); end > 0 {
			s.add(StreetAddress, weightContact, start, end)
			return
		}
		if end := s.britishPostcode(i); end > 0 {
			s.add(StreetAddress, weightContact, start, end)
			return
		}
	}
}

// houseNumberBefore returns where the number of the house begins, with one to five words in
// capitals between it and the word for street at i; -1 if that is not so.
func (s *scan) houseNumberBefore(i int) int {
	from := max(0, i-maxStreet)
	n := i
	for range 5 {
		for n > from && (s.text[n-1] == ' ' || s.text[n-1] == '.') {
			n--
		}
		word := n
		for word > from && (s.bytes.has(s.text, word-1, alnumeric|dash|high) || s.text[word-1] == '\'') {
			word--
		}
		if word == n {
			return -1
		}
		switch w := s.text[word:n]; {
		case s.bytes.has(w, 0, digit) && houseNumber(s.bytes, w) && n < i-1:
			return word
		case s.bytes.has(w, 0, upperCase|digit|high):
		default:
			return -1
		}
		n = word
	}
	return -1
}

// houseNumber reports whether w is a number of up to five digits, perhaps with a letter.
func houseNumber(bytes *alphabets, w string) bool {
	end := bytes.run(w, 0, 6, digit)
	return end >= 1 && end <= 5 && (end == len(w) || end == len(w)-1 && bytes.has(w, end, letter))
}

func (s *scan) stateAndZIP(i int) int {
	const states = "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA PR RI SC SD TN TX UT VT VA WA WV WI WY"
	if i+8 > len(s.text) || !s.bytes.has(s.text, i+1, upperCase) || !isOneOf(s.text[i:i+2], states) {
		return 0
	}
	zip := s.skipAny(i+2, " ", 2)
	end := s.bytes.run(s.text, zip, 6, digit)
	if zip == i+2 || end-zip != 5 {
		return 0
	}
	if s.bytes.has(s.text, end, dash) && s.bytes.run(s.text, end+1, 5, digit) == end+5 {
		end += 5
	}
	if s.bytes.has(s.text, end, alnumeric) {
		return 0
	}
	return end
}

// britishPostcode returns the end of a postcode such as BS8 1QU or EC1A 1BB at i, or 0.
func (s *scan) britishPostcode(i int) int {
	area := s.bytes.run(s.text, i, 3, upperCase)
	district := s.bytes.run(s.text, area, 3, digit)
	if area-i > 2 || district == area || district-area > 2 {
		return 0
	}
	if s.bytes.has(s.text, district, upperCase) {
		district++
	}
	in := s.skipAny(district, " ", 1)
	if in+3 > len(s.text) || !pattern(s.text[in:in+3], "9AA") || s.bytes.has(s.text, in+3, alnumeric) {
		return 0
	}
	return in + 3
}

// rue adds "14 rue des Lilas, 69003 Lyon" and "Via Roma 12, 00184 Roma", from the word for
// street.
func (s *scan) rue(h *hit) {
	start := h.start
	before := strings.TrimRight(s.text[max(0, h.start-12):h.start], ", ")
	before = strings.TrimSuffix(strings.TrimSuffix(before, " bis"), " ter")
	end := h.start - (h.start - max(0, h.start-12)) + len(before)
	if n := s.bytes.back(s.text, end, 5, digit); n < end && end-n <= 4 && !s.bytes.has(s.text, n-1, alnumeric) {
		start = n
	}
	numbered := start < h.start
	for i := h.end; i < min(len(s.text), h.end+maxPostCode) && s.text[i] != '\n'; i++ {
		if !s.bytes.has(s.text, i, digit) || s.bytes.has(s.text, i-1, alnumeric) {
			continue
		}
		stop := s.bytes.run(s.text, i, 6, digit)
		if stop-i <= 4 {
			numbered, i = true, stop
			continue
		}
		if city := s.cityAfter(i, stop); city > 0 && numbered {
			s.add(StreetAddress, weightContact, start, city)
		}
		return
	}
}

// cityAfter returns the end of the name of the city behind the five digits from i to stop, 0
// if there is none.
func (s *scan) cityAfter(i, stop int) int {
	if stop-i != 5 || stop+1 >= len(s.text) || s.text[stop] != ' ' || !s.bytes.has(s.text, stop+1, upperCase|high) {
		return 0
	}
	return s.bytes.run(s.text, stop+1, 40, letter|high|dash)
}

// findStreetWords adds "Lindenstraße 12a, 10969 Berlin", from the word that ends like a
// street.
func (s *scan) findStreetWords() {
	for from := 0; ; {
		n := strings.IndexByte(s.text[from:], ',')
		if n < 0 {
			return
		}
		comma := from + n
		from = comma + 1
		zip := s.skipAny(comma+1, " ", 2)
		stop := s.bytes.run(s.text, zip, 6, digit)
		city := s.cityAfter(zip, stop)
		if city == 0 {
			continue
		}
		number := s.bytes.back(s.text, comma, 6, alnumeric)
		if number == comma || !houseNumber(s.bytes, s.text[number:comma]) || number == 0 || s.text[number-1] != ' ' {
			continue
		}
		street := s.bytes.back(s.text, number-1, maxStreet, letter|high|dash|dot)
		if streetWord(strings.ToLower(s.text[street : number-1])) {
			s.add(StreetAddress, weightContact, s.withPreposition(street), city)
		}
	}
}

// withPreposition takes the word before the street that begins at i into its name, if it is one
// of those that names begin with: Am Bahnhofsplatz, Alte Poststraße.
func (s *scan) withPreposition(i int) int {
	end := s.skipBack(i)
	start := s.bytes.back(s.text, end, 8, letter|high)
	if end < i && isOneOf(s.text[start:end], "Am Im Zum Zur An Auf Beim Alte Alter Neue Neuer Große Großer Kleine Kleiner Obere Untere") {
		return start
	}
	return i
}

func streetWord(word string) bool {
	for _, end := range []string{"straße", "strasse", "str.", "weg", "platz", "allee", "gasse", "damm", "ufer", "ring", "straat", "laan", "gatan", "gade"} {
		if len(word) > len(end) && strings.HasSuffix(word, end) {
			return true
		}
	}
	return false
}
