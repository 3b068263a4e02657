package mem

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"
)

// ID identifies a memory or another record. It is a UUID of version 7 (RFC 9562): its text
// form is the usual 36 characters and ids made later sort later, to the microsecond. The
// zero ID identifies nothing.
type ID [16]byte

var errID = errors.New("not a UUID")

// NewID makes an ID from the time and 62 bits read from random. It fails only if random does.
// The twelve bits after the version subdivide the millisecond (method 3 of RFC 9562, 6.2): what
// is written in one go keeps its order.
func NewID(now time.Time, random io.Reader) (ID, error) {
	var id ID
	if _, err := io.ReadFull(random, id[8:]); err != nil {
		return ID{}, fmt.Errorf("read random bytes: %w", err)
	}
	const version, parts = 7, 1 << 12
	part := uint64(now.Nanosecond()) % uint64(time.Millisecond) * parts / uint64(time.Millisecond) //nolint:gosec // never negative
	binary.BigEndian.PutUint64(id[:8], uint64(now.UnixMilli())<<16|version<<12|part)
	id[8] = id[8]&0x3f | 0x80
	return id, nil
}

// ParseID reads the 36-character form, in either case. Any UUID is accepted, whatever its
// version.
func ParseID(s string) (ID, error) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return ID{}, errID
	}
	var id ID
	packed := s[0:8] + s[9:13] + s[14:18] + s[19:23] + s[24:36]
	if _, err := hex.Decode(id[:], []byte(packed)); err != nil {
		return ID{}, errID
	}
	return id, nil
}

// String returns the 36-character form in lower case.
func (id ID) String() string {
	var b [36]byte
	hex.Encode(b[0:8], id[0:4])
	hex.Encode(b[9:13], id[4:6])
	hex.Encode(b[14:18], id[6:8])
	hex.Encode(b[19:23], id[8:10])
	hex.Encode(b[24:36], id[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// IsZero reports whether the ID identifies nothing.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText implements encoding.TextMarshaler; the zero ID is the empty text.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return []byte{}, nil
	}
	return []byte(id.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}
