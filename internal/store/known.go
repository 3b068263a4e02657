package store

import (
	"bytes"
	"sync"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
)

// maxKnown is how many namespaces a Store remembers. Forgetting costs a round trip.
const maxKnown = 4096

// Known is the policies of what a caller sees as the gate read them once. A decision and the
// statement that rests on it must be given the same Known: the statement compares it with what
// is, and does nothing if they differ. It is never changed.
type Known struct {
	raw      []byte
	Policies []mem.Policy
}

// known is what a Store remembers of namespaces. It is never trusted: a statement that rests
// on it compares it with what is, and does nothing if they differ. What a caller sees follows
// from its namespace alone; should that change, so must the key.
type known struct {
	mu     sync.Mutex
	spaces map[string]knownSpace
}

type knownSpace struct {
	// policies is nil if they have not been read.
	policies *Known
	// rows is about how many memories of the namespace a search looks through.
	rows int64
	// place never changes; zero if it has not been read.
	place place
}

func newKnown() *known { return &known{spaces: map[string]knownSpace{}} }

func (n *known) get(namespace string) knownSpace {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.spaces[namespace]
}

// keepPolicies remembers the policies and returns them, the ones it had if they are the same.
func (n *known) keepPolicies(namespace string, raw []byte, policies []mem.Policy) *Known {
	n.mu.Lock()
	defer n.mu.Unlock()
	space := n.spaces[namespace]
	if space.policies == nil || !bytes.Equal(space.policies.raw, raw) {
		space.policies = &Known{raw: bytes.Clone(raw), Policies: policies}
		n.put(namespace, space)
	}
	return space.policies
}

func (n *known) keepPlace(namespace string, at place) {
	n.mu.Lock()
	defer n.mu.Unlock()
	space := n.spaces[namespace]
	if space.place == at {
		return
	}
	space.place = at
	n.put(namespace, space)
}

func (n *known) keepRows(stats []queries.NamespaceStatsRow) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range stats {
		space := n.spaces[r.Path]
		space.rows = r.LiveRows
		n.put(r.Path, space)
	}
}

// What a search costs beside its vectors, in the time it takes to read one: the gate and the
// statistics as much as gateRows, the postings wordsShare of all rows (BenchmarkSearch).
const (
	gateRows   = 300
	wordsShare = 0.2
)

// share parts the visible namespaces in two, so that a connection that also fetches words has
// about as much to do with the second group as another has with the first. It returns nil if
// one namespace has most of the rows, or nothing is known.
func (n *known) share(visible []string) [][]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var total int64
	for _, path := range visible {
		total += n.spaces[path].rows
	}
	spare := int64(float64(total)*(1-wordsShare)/2) - gateRows
	var most, rest []string
	for _, path := range visible {
		if rows := n.spaces[path].rows; rows > 0 && rows <= spare {
			spare -= rows
			rest = append(rest, path)
		} else {
			most = append(most, path)
		}
	}
	if len(rest) == 0 || len(most) == 0 {
		return nil
	}
	return [][]string{most, rest}
}

// put makes room by forgetting some others, whichever. The lock is held.
func (n *known) put(namespace string, space knownSpace) {
	if _, ok := n.spaces[namespace]; !ok && len(n.spaces) >= maxKnown {
		forget := maxKnown / 16
		for other := range n.spaces {
			if forget--; forget < 0 {
				break
			}
			delete(n.spaces, other)
		}
	}
	n.spaces[namespace] = space
}
