package pgtest

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
)

// link is one connection. Its fields are guarded by the wire's lock.
type link struct {
	wire      *Wire
	near, far net.Conn
	started   bool
	cut       bool
	pending   int // answers that the client waits for
	cutIn     int // cut when so many of them have come, if not 0
	gone      chan struct{}
}

// sever cuts the link. The server may still be at work: it notices when it reads on.
func (l *link) sever() {
	if l.cut {
		return
	}
	l.cut = true
	_ = l.near.Close()
	if half, ok := l.far.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	} else {
		_ = l.far.Close()
	}
}

// up passes the client's messages on, each on its own.
func (l *link) up() {
	for {
		message, err := l.readMessage()
		l.wire.mu.Lock()
		if err != nil || l.cut || !l.pass(message) {
			l.sever()
			l.wire.mu.Unlock()
			return
		}
		l.wire.mu.Unlock()
	}
}

// cancelRequest is the code in place of a version that asks to cancel what another connection
// does. pgx sends one when a connection breaks.
const cancelRequest = 80877102

// pass forwards a message and reports whether the connection is to stay.
func (l *link) pass(message []byte) bool {
	w, kind := l.wire, message[0]
	hit, synced := false, !l.started
	if l.started && kind != 'p' && kind != 'X' {
		w.seen = append(w.seen, kind)
		hit, synced = len(w.seen) == w.at, kind == 'S' || kind == 'Q'
	}
	if !l.started && len(message) > 8 && binary.BigEndian.Uint32(message[4:]) == cancelRequest {
		return false // where a connection breaks, this does not get through either
	}
	l.started = true
	if hit && w.moment != CutAnswered {
		defer w.begin()
	}
	if hit && w.moment == CutBefore {
		return false
	}
	if _, err := l.far.Write(message); err != nil {
		return false
	}
	if synced {
		l.pending++
		if hit && w.moment == CutAnswered {
			l.cutIn = l.pending
		}
	}
	return !hit || w.moment != CutUnanswered
}

func (l *link) readMessage() ([]byte, error) {
	head := 5
	if !l.started {
		head = 4 // the first message has no type
	}
	message := make([]byte, head)
	if _, err := io.ReadFull(l.near, message); err != nil {
		return nil, err //nolint:wrapcheck // ends the link
	}
	return readBody(l.near, message)
}

// readBody completes a message whose header ends with its length.
func readBody(from io.Reader, head []byte) ([]byte, error) {
	length := int(binary.BigEndian.Uint32(head[len(head)-4:]))
	if length < 4 {
		return nil, errors.New("message without a length")
	}
	message := make([]byte, len(head)+length-4)
	copy(message, head)
	_, err := io.ReadFull(from, message[len(head):])
	return message, err //nolint:wrapcheck // ends the link
}

// back passes the server's messages on until the server closes the connection.
func (l *link) back() {
	w := l.wire
	defer func() {
		_ = l.far.Close()
		w.mu.Lock()
		l.sever()
		delete(w.open, l)
		w.mu.Unlock()
		close(l.gone)
		w.links.Done()
	}()
	for {
		head := make([]byte, 5)
		if _, err := io.ReadFull(l.far, head); err != nil {
			return
		}
		message, err := readBody(l.far, head)
		if err != nil {
			return
		}
		w.mu.Lock()
		cut := l.cut
		w.mu.Unlock()
		if cut {
			continue // nobody reads it any more
		}
		_, _ = l.near.Write(message)
		if message[0] == 'Z' {
			l.answered()
		}
	}
}

// answered counts an answer that has reached the client.
func (l *link) answered() {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	l.pending--
	if l.cutIn == 0 {
		return
	}
	if l.cutIn--; l.cutIn == 0 {
		l.sever()
		l.wire.begin()
	}
}
