package writepath

import (
	"strings"

	"github.com/memkernel/memkernel/kernel/mem"
)

// maxEchoLines is how many lines of a text are compared one by one with what was handed out. A
// longer text is compared as a whole only.
const maxEchoLines = 64

// echoKeys returns the dedupe keys by which a text is known for something that was handed out:
// its own, and if it has several lines those of what stands in each, without the marks of a list
// or a quotation. The first is own.
func echoKeys(text string, own [32]byte) [][32]byte {
	keys := [][32]byte{own}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) > maxEchoLines {
		return keys
	}
	for _, line := range lines {
		bare := strings.TrimSpace(unmarked(strings.TrimSpace(line)))
		switch {
		case bare == "":
			continue
		case len(lines) == 1 && bare == strings.TrimSpace(text):
			return keys
		}
		keys = append(keys, DedupeKey(bare))
	}
	return keys
}

// unmarked returns a line without the mark of a list and without quotation marks around it.
func unmarked(line string) string {
	rest := strings.TrimLeft(line, "0123456789")
	if len(rest) < len(line) && (strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")) {
		line = rest[2:]
	} else {
		for _, mark := range []string{"- ", "* ", "+ ", "\u2022 ", "\u2013 ", "> "} {
			if after, ok := strings.CutPrefix(line, mark); ok {
				line = after
				break
			}
		}
	}
	line = strings.TrimSpace(line)
	for _, pair := range []string{`""`, "''", "``", "\u201c\u201d", "\u00ab\u00bb"} {
		open, shut := pair[:len(pair)/2], pair[len(pair)/2:]
		if len(line) > len(pair) && strings.HasPrefix(line, open) && strings.HasSuffix(line, shut) {
			return line[len(open) : len(line)-len(shut)]
		}
	}
	return line
}

// Echoes returns the memories that the draft says back, given those that were handed out to its
// writer by dedupe key: the one with the whole text, or one for every line, nil if anything in
// the draft is new.
func (d *Draft) Echoes(handedOut map[[32]byte]mem.ID) []mem.ID {
	if len(handedOut) == 0 || len(d.EchoKeys) == 0 {
		return nil
	}
	if id, ok := handedOut[d.EchoKeys[0]]; ok {
		return []mem.ID{id}
	}
	var ids []mem.ID
	for _, key := range d.EchoKeys[1:] {
		id, ok := handedOut[key]
		if !ok {
			return nil
		}
		ids = append(ids, id)
	}
	return ids
}
