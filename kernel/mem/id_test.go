package mem_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/mem"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newID(tb testing.TB, at time.Time, random byte) mem.ID {
	tb.Helper()
	id, err := mem.NewID(at, bytes.NewReader(bytes.Repeat([]byte{random}, 16)))
	require.NoError(tb, err)
	return id
}

func TestNewIDSortsByTime(t *testing.T) {
	t.Parallel()
	last := newID(t, time.UnixMilli(0), 0xff)
	for _, at := range []time.Time{
		time.UnixMicro(1), time.UnixMicro(2), time.UnixMicro(999), time.UnixMilli(1), time.UnixMilli(0xff), time.UnixMilli(0x100),
		noon, noon.Add(time.Microsecond), noon.Add(2 * time.Microsecond), noon.Add(time.Millisecond),
		noon.Add(time.Hour), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
	} {
		// The earlier one has the largest random part, the later the smallest.
		next := newID(t, at, 0x00)
		require.Negative(t, bytes.Compare(last[:], next[:]), "%s before %s", last, next)
		require.Less(t, last.String(), next.String(), "the text sorts alike")
		last = newID(t, at, 0xff)
	}
}

func TestNewIDIsUUIDVersion7(t *testing.T) {
	t.Parallel()
	for _, random := range []byte{0x00, 0x5a, 0xff} {
		s := newID(t, noon, random).String()
		require.Len(t, s, 36)
		require.Equal(t, byte('7'), s[14], s)
		require.Contains(t, "89ab", string(s[19]), s)
	}
	require.NotEqual(t, newID(t, noon, 1), newID(t, noon, 2))
	before := newID(t, time.UnixMilli(-1), 1)
	require.False(t, before.IsZero(), "a time before 1970 still makes an id")
}

func TestNewIDFailsWithItsRandomness(t *testing.T) {
	t.Parallel()
	broken := errors.New("no entropy")
	id, err := mem.NewID(noon, iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
	require.True(t, id.IsZero())
	id, err = mem.NewID(noon, strings.NewReader("short"))
	require.Error(t, err)
	require.True(t, id.IsZero())
}

func TestParseID(t *testing.T) {
	t.Parallel()
	want := newID(t, noon, 0xab)
	for _, s := range []string{want.String(), strings.ToUpper(want.String())} {
		got, err := mem.ParseID(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got)
	}
	any4, err := mem.ParseID("f47ac10b-58cc-4372-a567-0e02b2c3d479")
	require.NoError(t, err, "another version")
	require.Equal(t, "f47ac10b-58cc-4372-a567-0e02b2c3d479", any4.String())

	good := want.String()
	for name, s := range map[string]string{
		"empty":         "",
		"no dashes":     strings.ReplaceAll(good, "-", ""),
		"braces":        "{" + good + "}",
		"urn":           "urn:uuid:" + good,
		"space behind":  good + " ",
		"newline":       good[:35] + "\n",
		"NUL":           good[:35] + "\x00",
		"not hex":       "g" + good[1:],
		"dash moved":    good[:7] + "-" + good[7:8] + good[9:],
		"short":         good[:35],
		"full width":    "０" + good[3:],
		"plus for hex":  "+" + good[1:],
		"dashes for it": strings.Repeat("-", 36),
	} {
		id, err := mem.ParseID(s)
		require.Error(t, err, name)
		require.True(t, id.IsZero(), name)
		if s != "" {
			kept := want
			require.Error(t, kept.UnmarshalText([]byte(s)), name)
			require.Equal(t, want, kept, "a failure leaves the target alone")
		}
	}
}

func TestIDText(t *testing.T) {
	t.Parallel()
	type record struct{ ID, None mem.ID }
	in := record{ID: newID(t, noon, 0x11)}
	text, err := json.Marshal(in)
	require.NoError(t, err)
	require.JSONEq(t, `{"ID":"`+in.ID.String()+`","None":""}`, string(text))
	out := record{None: in.ID}
	require.NoError(t, json.Unmarshal(text, &out))
	require.Equal(t, in, out)
	require.True(t, mem.ID{}.IsZero())
	require.False(t, in.ID.IsZero())
}

func FuzzParseID(f *testing.F) {
	f.Add("01957a3e-5c00-7000-8000-000000000000")
	f.Add("01957A3E-5C00-7000-8000-00000000000g")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := mem.ParseID(s)
		if err != nil {
			require.True(t, id.IsZero())
			return
		}
		require.Equal(t, strings.ToLower(s), id.String())
	})
}
