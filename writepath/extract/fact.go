package extract

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/memkernel/memkernel/kernel/mem"
)

// fact makes a fact of an item and names what it did not take over. The text is taken as it
// is but for white space around it.
func (c *collector) fact(it *item) Fact {
	f := Fact{Text: strings.TrimSpace(it.text), Kind: c.in.Kind, Certainty: 1}
	if it.unknown {
		f.Flaws = append(f.Flaws, FlawUnknownProperty)
	}
	if !absent(it.kind) {
		kind, ok := text(it.kind)
		if k := mem.Kind(strings.ToLower(strings.TrimSpace(kind))); ok && slices.Contains(modelKinds(), k) {
			f.Kind = k
		} else {
			f.Flaws = append(f.Flaws, FlawKind)
		}
	}
	f.EventTime = moment(it.eventTime, FlawEventTime, &f)
	f.EventEnd = moment(it.eventEnd, FlawEventEnd, &f)
	c.bound(&f)
	if f.EventTime.IsZero() && f.EventEnd.IsZero() {
		f.EventTime, f.EventEnd = c.in.EventTime, c.in.EventEnd
	}
	if !absent(it.certainty) {
		var n float32
		if json.Unmarshal(it.certainty, &n) == nil && n >= 0 && n <= 1 {
			f.Certainty = n
		} else {
			f.Flaws = append(f.Flaws, FlawCertainty)
		}
	}
	if !absent(it.entities) {
		f.Entities = c.entities(names(it.entities, &f), &f)
	}
	return f
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// text returns a JSON string.
func text(raw json.RawMessage) (string, bool) {
	var s string
	ok := len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
	return s, ok
}

// moment reads a time, zero if there is none or it cannot be read.
func moment(raw json.RawMessage, flaw Flaw, f *Fact) time.Time {
	if absent(raw) {
		return time.Time{}
	}
	s, ok := text(raw)
	s = strings.TrimSpace(s)
	if ok && s == "" {
		return time.Time{} // some models write no null
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); ok && err == nil {
			return t
		}
	}
	f.Flaws = append(f.Flaws, flaw)
	return time.Time{}
}

// The bounds of a time that can be meant: from the year earliestYear, since models write the
// first year for unknown, to horizonYears after the reference time.
const (
	earliestYear = 100
	horizonYears = 100
)

// bound drops the times of a fact that cannot be meant.
func (c *collector) bound(f *Fact) {
	if !f.EventTime.IsZero() && !c.plausible(f.EventTime) {
		f.EventTime, f.Flaws = time.Time{}, append(f.Flaws, FlawEventTimeBounds)
	}
	switch {
	case f.EventEnd.IsZero():
		return
	case !c.plausible(f.EventEnd):
		f.Flaws = append(f.Flaws, FlawEventEndBounds)
	case f.EventTime.IsZero():
		f.Flaws = append(f.Flaws, FlawEventEndWithout)
	case f.EventEnd.Before(f.EventTime):
		f.Flaws = append(f.Flaws, FlawEventEndBackwards)
	default:
		return
	}
	f.EventEnd = time.Time{}
}

func (c *collector) plausible(t time.Time) bool {
	latest := 9999
	if now := c.in.reference(); !now.IsZero() {
		latest = min(latest, now.UTC().Year()+horizonYears)
	}
	if !c.in.Now.IsZero() {
		latest = min(9999, max(latest, c.in.Now.UTC().Year()+horizonYears))
	}
	y := t.UTC().Year()
	return y >= earliestYear && y <= latest
}

// names reads a list of names; what is none is a flaw.
func names(raw json.RawMessage, f *Fact) []string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		f.Flaws = append(f.Flaws, FlawEntities)
		return nil
	}
	out := make([]string, 0, min(len(list), MaxEntities))
	for _, one := range list {
		s, ok := text(one)
		if !ok {
			s = "\x00" // not a name, and entities says so
		}
		if out = append(out, s); len(out) > MaxEntities {
			break
		}
	}
	return out
}

// entities returns the names that can be kept, each once; that others were left out is a flaw.
func (c *collector) entities(given []string, f *Fact) []string {
	var out []string
	flawed := false
	for _, name := range given {
		name = strings.TrimSpace(name)
		switch {
		case slices.Contains(out, name):
		case mem.CheckText("Entities", name, MaxEntityBytes) != nil || len(out) == MaxEntities:
			flawed = true
		default:
			out = append(out, name)
		}
	}
	if flawed {
		f.Flaws = append(f.Flaws, FlawEntities)
	}
	return out
}
