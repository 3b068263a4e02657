package verify

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// hanFunction holds the characters that bear no evidence by themselves.
const hanFunction = "的了是在我你您他她它们們吗嗎呢吧和与與就也很这這那着著个個还還私僕彼"

// hanFree are words for who speaks, and that somebody does.
func hanFree() []string {
	return []string{"用户", "用戶", "使用者", "利用者", "话者", "話者", "表示", "提到", "目前", "现在", "已经", "已經"}
}

// hanNegations begin or are negations, except in hanPositive.
const hanNegations = "不没沒無无未别非"

func hanPositive() []string {
	return []string{
		"不错", "不錯", "不同", "不少", "不断", "不久", "不过", "不仅", "不但", "非常", "未来", "未來", "特别", "别人", "区别", "没错",
		"差不多", "除非", "非洲", "特別", "無料", "無事", "是非", "不动产", "不動産",
	}
}

// takeHan adds a run of Han characters: numerals as numbers, and what is left without the
// function characters.
func (c *cutter) takeHan(run string) {
	for _, free := range hanFree() {
		run = strings.ReplaceAll(run, free, "的")
	}
	plain := run
	for _, p := range hanPositive() {
		plain = strings.ReplaceAll(plain, p, "")
	}
	if strings.ContainsAny(plain, hanNegations) {
		c.add(token{kind: kana, free: true, negate: true})
	}
	for run != "" {
		n, value := numeral(run)
		if n > 0 {
			c.add(token{kind: number, text: value})
			run = run[n:]
			continue
		}
		end := spanHan(run)
		if end == 0 {
			_, end = utf8.DecodeRuneInString(run)
			run = run[end:]
			continue
		}
		c.add(token{kind: han, text: run[:end]})
		run = run[end:]
	}
}

// spanHan returns the length of the run up to a numeral or a function character.
func spanHan(run string) int {
	for i, r := range run {
		if strings.ContainsRune(hanFunction, r) || i > 0 && strings.ContainsRune("二三四五六七八九十两", r) {
			return i
		}
		if strings.ContainsRune(hanNegations, r) && !positiveAt(run[i:]) {
			return i
		}
	}
	return len(run)
}

func positiveAt(run string) bool {
	for _, p := range hanPositive() {
		if strings.HasPrefix(run, p) {
			return true
		}
	}
	return false
}

// numeral reads a number below a hundred written in Han numerals. 一 by itself is none: it is
// in too many words.
func numeral(run string) (length int, value string) {
	tens, ones, seen := 0, 0, 0
	for i, r := range run {
		d := strings.IndexRune("〇一二三四五六七八九", r)
		switch {
		case r == '十' && tens == 0:
			tens, ones = max(ones, 1)*10, 0
		case r == '两' && seen == 0:
			ones = 2
		case d >= 0 && ones == 0:
			ones = d / utf8.RuneLen('一')
		default:
			return numeralEnd(i, tens+ones)
		}
		seen++
	}
	return numeralEnd(len(run), tens+ones)
}

func numeralEnd(length, n int) (int, string) {
	if n < 2 {
		return 0, ""
	}
	return length, itoa(n)
}

// negatesInKana reports whether a run of Hiragana ends a negation.
func negatesInKana(run string) bool {
	for _, n := range []string{"ない", "ません", "なかった", "なく", "ないで", "ずに"} {
		if strings.Contains(run, n) {
			return true
		}
	}
	return false
}

// hanIndex knows the runs of Han characters of a source.
type hanIndex struct {
	chars, pairs, alone map[string]bool
}

func newHanIndex() hanIndex {
	return hanIndex{chars: map[string]bool{}, pairs: map[string]bool{}, alone: map[string]bool{}}
}

func (x hanIndex) add(run string) {
	runes := []rune(run)
	if len(runes) == 1 {
		x.alone[run] = true
	}
	for i := range runes {
		x.chars[string(runes[i])] = true
		if i > 0 {
			x.pairs[string(runes[i-1:i+1])] = true
		}
	}
}

// covers reports whether a run is in the source: as it stands, or cut into pieces of two and
// more characters. A single character counts only if it is all of the run, or stands by itself
// in the source.
func (x hanIndex) covers(run string) bool {
	runes := []rune(run)
	if len(runes) == 1 {
		return x.chars[run]
	}
	for len(runes) > 0 {
		n := 1
		for n < len(runes) && x.pairs[string(runes[n-1:n+1])] {
			n++
		}
		if n == 1 && !x.alone[string(runes[0])] {
			return false
		}
		runes = runes[n:]
	}
	return true
}

// pairsOf yields the pairs of characters of a run, or the run if it is one character.
func pairsOf(run string) iter.Seq[string] {
	return func(yield func(string) bool) {
		first := true
		for i, r := range run {
			next := i + utf8.RuneLen(r)
			if next == len(run) {
				if first {
					yield(run)
				}
				return
			}
			_, size := utf8.DecodeRuneInString(run[next:])
			if first = false; !yield(run[i : next+size]) {
				return
			}
		}
	}
}
