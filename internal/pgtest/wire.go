package pgtest

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Moment says when, around a message to the server, a connection is cut.
type Moment int

// The moments.
const (
	// CutBefore: the message does not reach the server.
	CutBefore Moment = iota
	// CutUnanswered: the server gets the message and goes on; the answer is lost.
	CutUnanswered
	// CutAnswered: the client has read the answer when the connection goes. It applies to the
	// messages that the server answers at once, Sync and Query.
	CutAnswered
)

// Wire is a proxy in front of a server that cuts a connection at a chosen message of the
// protocol. Use it from one test; its methods may be called concurrently.
type Wire struct {
	listener net.Listener
	network  string
	address  string
	links    sync.WaitGroup

	mu     sync.Mutex
	open   map[*link]bool
	seen   []byte
	at     int
	moment Moment
	outage bool // what the cut begins
	down   bool
	closed bool
}

// OpenWire returns a pool on the database of another pool, with a Wire in between. Both end
// with the test. The server must not ask for TLS.
func OpenWire(tb testing.TB, db *pgxpool.Pool, opts ...Option) (*Wire, *pgxpool.Pool) {
	tb.Helper()
	config, err := poolConfig(db.Config().ConnString(), opts)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	conn := config.ConnConfig
	if conn.TLSConfig != nil {
		tb.Skip("the server wants TLS")
	}
	w := &Wire{open: map[*link]bool{}}
	w.network, w.address = pgconn.NetworkAddress(conn.Host, conn.Port)
	if w.listener, err = new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0"); err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	port, _ := w.listener.Addr().(*net.TCPAddr)
	conn.Host, conn.Port = "127.0.0.1", uint16(port.Port) //nolint:gosec // a port
	conn.Fallbacks = nil
	go w.accept(context.WithoutCancel(tb.Context()))
	tb.Cleanup(w.close) // after the pool's own cleanup
	pool, err := pgxpool.NewWithConfig(tb.Context(), config)
	if err != nil {
		tb.Fatalf("pgtest: open pool: %v", err)
	}
	tb.Cleanup(pool.Close)
	return w, pool
}

// Arm counts messages from now on and cuts the connection of the n-th, or none for n = 0.
// What opens and ends a connection does not count.
func (w *Wire) Arm(n int, moment Moment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen, w.at, w.moment, w.outage = nil, n, moment, false
}

// ArmOutage is Arm, and from the cut on the server cannot be reached until Disarm.
func (w *Wire) ArmOutage(n int, moment Moment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen, w.at, w.moment, w.outage = nil, n, moment, true
}

// Disarm stops cutting, waits until the server has let go of the connections that were cut,
// and returns the types of the messages seen since Arm.
func (w *Wire) Disarm() []byte {
	w.mu.Lock()
	w.at, w.down = 0, false
	seen := w.seen
	var cut []*link
	for l := range w.open {
		if l.cut {
			cut = append(cut, l)
		}
	}
	w.mu.Unlock()
	for _, l := range cut {
		<-l.gone
	}
	return seen
}

// CutAll cuts every connection now, whatever is under way. New ones can be made.
func (w *Wire) CutAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.open {
		l.sever()
	}
}

// SetDown cuts every connection and makes the server unreachable, or reachable again.
func (w *Wire) SetDown(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
	if !down {
		return
	}
	for l := range w.open {
		l.sever()
	}
}

func (w *Wire) close() {
	w.mu.Lock()
	w.closed = true
	for l := range w.open {
		l.sever()
	}
	w.mu.Unlock()
	_ = w.listener.Close()
	w.links.Wait()
}

func (w *Wire) accept(ctx context.Context) {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.mu.Lock()
		down := w.down || w.closed
		w.mu.Unlock()
		if down {
			_ = near.Close()
			continue
		}
		far, err := new(net.Dialer).DialContext(ctx, w.network, w.address)
		if err != nil {
			_ = near.Close()
			continue
		}
		l := &link{wire: w, near: near, far: far, gone: make(chan struct{})}
		w.mu.Lock()
		w.open[l] = true
		w.links.Add(1)
		if w.closed || w.down {
			l.sever()
		}
		w.mu.Unlock()
		go l.up()
		go l.back()
	}
}

// begin begins the outage, if the cut is to.
func (w *Wire) begin() {
	if !w.outage {
		return
	}
	w.down = true
	for l := range w.open {
		l.sever()
	}
}
