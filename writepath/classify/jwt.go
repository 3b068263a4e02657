package classify

import (
	"encoding/base64"
	"encoding/json"
)

// maxJWTHeader bounds, in base64 characters, the header that is decoded.
const maxJWTHeader = 1024

// jwtAt returns the end of the JSON web token that begins at i, or 0: three or more parts in
// base64url, of which the first is a JSON object that names its algorithm.
func (s *scan) jwtAt(i int) int {
	const set = alnumeric | underscore | dash
	dot1 := s.bytes.run(s.text, i, maxJWTHeader+1, set)
	if dot1-i > maxJWTHeader || !s.bytes.has(s.text, dot1, dot) {
		return 0
	}
	dot2 := s.bytes.run(s.text, dot1+1, len(s.text), set)
	if dot2-dot1 < 8 || !s.bytes.has(s.text, dot2, dot) || !jwtHeader(s.text[i:dot1]) {
		return 0
	}
	end := s.bytes.run(s.text, dot2+1, len(s.text), set)
	for parts := 3; parts < 5 && s.bytes.has(s.text, end, dot) && s.bytes.has(s.text, end+1, set); parts++ {
		end = s.bytes.run(s.text, end+1, len(s.text), set)
	}
	return end
}

func jwtHeader(part string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return false
	}
	var header struct {
		Alg string `json:"alg"`
	}
	return json.Unmarshal(raw, &header) == nil && header.Alg != ""
}
