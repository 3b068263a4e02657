package classify

import (
	"slices"
	"strings"
)

// labels returns the labels of the text. It runs after findPhrases.
func (s *scan) labels() []Label {
	var out []Label
	if s.hidden {
		out = append(out, HiddenText)
	}
	if s.imitates || s.present&mark != 0 && s.hasMarkup() || s.present&colon != 0 && s.hasSystemLine() ||
		s.present&dash != 0 && s.hasOrderKey() {
		out = append(out, ImitatesInstructions)
	}
	slices.Sort(out)
	return out
}

// hasMarkup looks for the marks by which models tell whose turn it is, and for those that
// agents wrap around tools and messages.
func (s *scan) hasMarkup() bool {
	for i := 0; i < len(s.text); i++ {
		switch s.text[i] {
		case '<':
			if s.turnMark(i) || !s.bytes.has(s.text, i-1, alnumeric) && s.blockTag(i) {
				return true
			}
		case '[':
			if hasAnyPrefix(s.text[i:], "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_RESULTS]", "[AVAILABLE_TOOLS]") {
				return true
			}
		case '#':
			if strings.HasPrefix(s.text[i:], "### Instruction:") && strings.Contains(s.text[i:min(len(s.text), i+4096)], "### Response:") {
				return true
			}
		case '{':
			if s.roleObject(i) {
				return true
			}
		}
	}
	return false
}

// turnMark reports whether a control token of a chat template stands at i.
func (s *scan) turnMark(i int) bool {
	rest := s.text[i:]
	if hasAnyPrefix(rest, "<<SYS>>", "<</SYS>>", "<start_of_turn>", "<end_of_turn>") {
		return true
	}
	if !strings.HasPrefix(rest, "<|") {
		return false
	}
	name, _, ok := strings.Cut(rest[2:min(len(rest), 32)], "|>")
	return ok && isOneOf(name, "im_start im_end system user assistant tool end endoftext eot_id start_header_id "+
		"end_header_id begin_of_text endofprompt start end_of_text channel message")
}

// blockTag reports whether a tag at i opens or closes a block that only the host may write.
func (s *scan) blockTag(i int) bool {
	rest := strings.TrimPrefix(s.text[i+1:min(len(s.text), i+32)], "/")
	name, _, ok := strings.Cut(rest, ">")
	if !ok {
		return false
	}
	if isOneOf(name, "system_prompt system-prompt system-reminder system_message system_instruction tool_result tool_results "+
		"tool_response tool_call tool_calls tool_output function_call function_calls function_results function_response "+
		"function_result policy-directive policy_directive developer_message") {
		return true
	}
	if name != "system" && name != "instructions" && name != "assistant" {
		return false
	}
	return s.near(wordYou, i, i, 0, 60) || s.near(wordIgnore, i, i, 0, 60) || s.near(wordOverride, i, i, 0, 60)
}

// roleObject reports whether a message of a chat protocol begins at i.
func (s *scan) roleObject(i int) bool {
	rest := strings.TrimLeft(s.text[i+1:min(len(s.text), i+40)], " \n\t")
	if !hasAnyPrefix(rest, `"role"`, `'role'`) {
		return false
	}
	rest = strings.TrimLeft(rest[len(`"role"`):], ` :"'`)
	return hasAnyPrefix(rest, "system", "developer", "tool", "assistant")
}

// hasSystemLine reports whether a line begins like a message of the system and gives an order.
func (s *scan) hasSystemLine() bool {
	for i := 0; i < len(s.hits); i++ {
		h := &s.hits[i]
		if !h.set.has(wordTurn) || !strings.EqualFold(s.text[h.start:h.end], "system") || !s.beginsLine(h.start) {
			continue
		}
		rest := strings.TrimLeft(s.text[h.end:min(len(s.text), h.end+8)], "]*) ")
		if strings.HasPrefix(rest, ":") && s.ordersWithin(i, 8) {
			return true
		}
	}
	return false
}

func (s *scan) ordersWithin(i, words int) bool {
	for n := i + 1; n < len(s.hits) && s.hits[n].ord <= s.hits[i].ord+words; n++ {
		if h := &s.hits[n]; h.set.has(wordYou) || h.set.has(wordIgnore) || h.set.has(wordOverride) || h.set.has(wordReveal) && h.ord <= s.hits[i].ord+2 {
			return true
		}
	}
	return false
}

// beginsLine reports whether only marks stand between the start of the line and i.
func (s *scan) beginsLine(i int) bool {
	for n := i - 1; n >= max(0, i-12); n-- {
		switch s.text[n] {
		case '\n':
			return true
		case ' ', '#', '*', '[', '(', '-', '=', '>', '\t', '\r':
		default:
			return false
		}
	}
	return i <= 12
}

// hasOrderKey reports whether the text has a key by which the kernel orders its own blocks.
func (s *scan) hasOrderKey() bool {
	return strings.Contains(s.text, "0-policy-") || strings.Contains(s.text, "0-pin-")
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// isOneOf reports whether word is one of the words of a list, which has single spaces between
// them.
func isOneOf(word, list string) bool {
	if word == "" || strings.IndexByte(word, ' ') >= 0 {
		return false
	}
	for from := 0; ; {
		n := strings.Index(list[from:], word)
		if n < 0 {
			return false
		}
		i := from + n
		end := i + len(word)
		if (i == 0 || list[i-1] == ' ') && (end == len(list) || list[end] == ' ') {
			return true
		}
		from = end
	}
}
