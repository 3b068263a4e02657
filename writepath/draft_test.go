package writepath_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func valid() writepath.Draft {
	return writepath.Draft{Kind: mem.KindFact, Text: "a fact", EventTime: noon, EventEnd: noon, Source: "chat"}
}

func TestDraftValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, field string // field is empty where the draft is accepted
		is          error
		spoil       func(*writepath.Draft)
	}{
		{"valid", "", nil, func(*writepath.Draft) {}},
		{"no times", "", nil, func(d *writepath.Draft) { d.EventTime, d.EventEnd = time.Time{}, time.Time{} }},
		{"text at the limit", "", nil, func(d *writepath.Draft) { d.Text = strings.Repeat("x", 100) }},
		{"source at the limit", "", nil, func(d *writepath.Draft) { d.Source = strings.Repeat("x", writepath.MaxSourceBytes) }},
		{"text over", "Text", mem.ErrTooLarge, func(d *writepath.Draft) { d.Text = strings.Repeat("x", 101) }},
		{"blank text", "Text", mem.ErrInvalid, func(d *writepath.Draft) { d.Text = "\u2003\n" }},
		{"NUL in text", "Text", mem.ErrInvalid, func(d *writepath.Draft) { d.Text = "a\x00" }},
		{"no kind", "Kind", mem.ErrInvalid, func(d *writepath.Draft) { d.Kind = "" }},
		{"unknown kind", "Kind", mem.ErrInvalid, func(d *writepath.Draft) { d.Kind = "Fact" }},
		{"source over", "Source", mem.ErrTooLarge, func(d *writepath.Draft) { d.Source = strings.Repeat("x", writepath.MaxSourceBytes+1) }},
		{"source not UTF-8", "Source", mem.ErrInvalid, func(d *writepath.Draft) { d.Source = "\xff" }},
		{"event before the year 1", "EventTime", mem.ErrInvalid, func(d *writepath.Draft) { d.EventTime = noon.AddDate(-3000, 0, 0) }},
		{"end after the year 9999", "EventEnd", mem.ErrInvalid, func(d *writepath.Draft) { d.EventEnd = noon.AddDate(9000, 0, 0) }},
		{"end without time", "EventEnd", mem.ErrInvalid, func(d *writepath.Draft) { d.EventTime = time.Time{} }},
		{"end before time", "EventEnd", mem.ErrInvalid, func(d *writepath.Draft) { d.EventEnd = noon.Add(-1) }},
	} {
		d := valid()
		c.spoil(&d)
		err := d.Validate(100)
		if c.is == nil {
			require.NoError(t, err, c.name)
			continue
		}
		require.ErrorIs(t, err, c.is, c.name)
		var invalid *mem.InvalidError
		var large *mem.TooLargeError
		if errors.As(err, &invalid) {
			require.Equal(t, c.field, invalid.Field, c.name)
		} else {
			require.ErrorAs(t, err, &large, c.name)
			require.Equal(t, c.field, large.Field, c.name)
		}
	}
}

func TestDraftPrepare(t *testing.T) {
	t.Parallel()
	d := valid()
	d.EventTime = noon.Add(1999 * time.Nanosecond)
	d.EventEnd = noon.Add(time.Hour + 999*time.Nanosecond)
	d.Prepare()
	require.Equal(t, writepath.DedupeKey("A  FACT"), d.DedupeKey)
	require.Equal(t, 2, d.Tokens)
	require.Equal(t, noon.Add(time.Microsecond), d.EventTime)
	require.Equal(t, noon.Add(time.Hour), d.EventEnd)
	require.Equal(t, "a fact", d.Text, "the text itself is kept as it is")
}
