package mem

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// EstimateTokens returns the guardrail estimate of a text's size in model tokens: its
// length in characters (runes) divided by four, rounded up.
func EstimateTokens(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }

// CheckText validates a text that is to be stored: at most limit bytes, not blank, valid
// UTF-8, no NUL, which Postgres cannot hold. Stored text is never altered to make it fit,
// so what does not fit is refused with an error that names field.
func CheckText(field, text string, limit int) error {
	if len(text) > limit {
		return &TooLargeError{Field: field, Size: int64(len(text)), Limit: int64(limit), Unit: "bytes"}
	}
	if strings.TrimSpace(text) == "" {
		return &InvalidError{Field: field, Reason: "it is blank"}
	}
	return CheckLabel(field, text, limit)
}

// CheckLabel validates a short text that may be empty, such as a source or a reason.
func CheckLabel(field, text string, limit int) error {
	if len(text) > limit {
		return &TooLargeError{Field: field, Size: int64(len(text)), Limit: int64(limit), Unit: "bytes"}
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		return &InvalidError{Field: field, Reason: fmt.Sprintf("NUL byte at offset %d", i)}
	}
	if !utf8.ValidString(text) {
		return &InvalidError{Field: field, Reason: fmt.Sprintf("not valid UTF-8 at offset %d", invalidOffset(text))}
	}
	return nil
}

func invalidOffset(text string) int {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		}
	}
	return len(text)
}

// CleanQuery makes a query safe to search with and to audit: invalid UTF-8 and NUL bytes
// become U+FFFD. Unlike stored text, a query loses nothing by it.
func CleanQuery(query string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(query, "\uFFFD"), "\x00", "\uFFFD")
}

// CheckTime validates a time that is to be stored: zero for unknown, or between the years 1
// and 9999, which RFC 3339 and Postgres can both write.
func CheckTime(field string, t time.Time) error {
	if y := t.UTC().Year(); !t.IsZero() && (y < 1 || y > 9999) {
		return &InvalidError{Field: field, Reason: fmt.Sprintf("year %d is not between 1 and 9999", y)}
	}
	return nil
}
