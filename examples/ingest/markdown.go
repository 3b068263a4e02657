package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxSection is how large the text of a section is at most, without its heading, in bytes:
	// some paragraphs, so that a search finds the one that answers.
	maxSection = 1500
	// maxHeading is how long a heading is at most, in bytes. A longer one is text.
	maxHeading = 200
)

// section is a piece of a Markdown file: the heading that it stands under, and text.
type section struct {
	line   int    // of its first paragraph, from 1
	anchor string // of its heading, as in a link; "" above the first heading
	part   int    // from 1, of the texts under this heading
	text   string
}

// source is what follows a file's name in the source of a memory.
func (s *section) source() string {
	out := ""
	if s.anchor != "" {
		out = "#" + s.anchor
	}
	if s.part > 1 {
		out += fmt.Sprintf(" (part %d)", s.part)
	}
	return out
}

// block is a paragraph, or whatever else stands between blank lines.
type block struct {
	line int
	text []string
}

// splitter cuts a Markdown file into sections.
type splitter struct {
	heading, anchor string
	anchors         map[string]int
	blocks          []block
	open            bool // whether the last block goes on
	out             []section
}

// sections cuts a Markdown file at its headings, and what stands under one heading between
// paragraphs. It knows both forms of headings, fenced code and front matter; all else is text.
func sections(text string) []section {
	s := &splitter{anchors: map[string]int{}}
	fence := ""
	front := strings.HasPrefix(text, "---\n") && strings.Contains(text, "\n---\n")
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		switch {
		case front:
			if line != "---" {
				s.add(number, line)
			} else if front = number == 1; !front {
				s.open = false
			}
		case fence != "":
			s.add(number, line)
			if closes(line, fence) {
				fence = ""
			}
		case strings.TrimSpace(line) == "":
			s.open = false
		default:
			if fence = fenced(line); fence != "" {
				s.add(number, line)
			} else {
				s.plain(number, line)
			}
		}
	}
	s.flush()
	return s.out
}

var (
	atx        = regexp.MustCompile(`^ {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	underline  = regexp.MustCompile(`^ {0,3}(?:=+|-+)[ \t]*$`)
	rule       = regexp.MustCompile(`^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$`)
	noHeading  = regexp.MustCompile("^ {0,3}(?:[-+*>|`~]|[0-9]+[.)])")
	beginFence = regexp.MustCompile("^ {0,3}(```+|~~~+)([^`]*)$")
)

// plain takes a line that is neither blank nor code.
func (s *splitter) plain(number int, line string) {
	if m := atx.FindStringSubmatch(line); m != nil && len(m[1]) <= maxHeading {
		s.begin(m[1])
		return
	}
	if last := len(s.blocks) - 1; s.open && underline.MatchString(line) && len(s.blocks[last].text) == 1 {
		title := strings.TrimSpace(s.blocks[last].text[0])
		if len(title) <= maxHeading && !noHeading.MatchString(title) {
			s.blocks = s.blocks[:last]
			s.begin(title)
			return
		}
	}
	if rule.MatchString(line) {
		s.open = false
		return
	}
	s.add(number, line)
}

func (s *splitter) add(number int, line string) {
	if !s.open {
		s.blocks = append(s.blocks, block{line: number})
		s.open = true
	}
	last := &s.blocks[len(s.blocks)-1]
	last.text = append(last.text, line)
}

// begin ends what stands under the heading before.
func (s *splitter) begin(heading string) {
	s.flush()
	s.heading, s.anchor = heading, anchorOf(heading)
	n := s.anchors[s.anchor]
	s.anchors[s.anchor] = n + 1
	if n > 0 {
		s.anchor += fmt.Sprintf("-%d", n)
	}
}

// flush makes sections of the blocks.
func (s *splitter) flush() {
	part, line, body := 0, 0, ""
	emit := func() {
		if strings.TrimSpace(body) == "" {
			return
		}
		part++
		text := body
		if s.heading != "" {
			text = s.heading + "\n\n" + body
		}
		s.out = append(s.out, section{line, s.anchor, part, text})
	}
	for _, b := range s.blocks {
		for _, piece := range cut(strings.Join(b.text, "\n"), maxSection) {
			if body != "" && len(body)+len("\n\n")+len(piece) <= maxSection {
				body += "\n\n" + piece
				continue
			}
			emit()
			line, body = b.line, piece
		}
	}
	emit()
	s.blocks, s.open = nil, false
}

// cut cuts a text that is too long between lines, or else sentences, words or characters.
func cut(text string, most int) []string {
	var out []string
	for len(text) > most {
		at := most
		for !utf8.RuneStart(text[at]) {
			at--
		}
		for _, between := range []string{"\n", ". ", " "} {
			if i := strings.LastIndex(text[:at], between); i > most/2 {
				at = i + len(between)
				break
			}
		}
		out = append(out, strings.TrimRight(text[:at], " \n"))
		text = text[at:]
	}
	return append(out, strings.TrimRight(text, " \n"))
}

// fenced returns the fence that a line begins code with, "" if it does not.
func fenced(line string) string {
	m := beginFence.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return m[1]
}

// closes reports whether a line ends the code that fence began.
func closes(line, fence string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= len(fence) && strings.Trim(line, fence[:1]) == ""
}

// anchorOf is the name of a heading in links.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsNumber(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
