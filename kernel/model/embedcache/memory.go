package embedcache

import (
	"container/list"
	"sync"
)

// entryOverhead is about what a vector costs beside its components: the key twice, the list's element,
// the slice and the map's share.
const entryOverhead = 200

// memory keeps the vectors that were used last, up to a number of bytes.
type memory struct {
	limit int64

	mu     sync.Mutex
	bytes  int64
	byKey  map[key]*list.Element
	recent *list.List // of *entry, the last used in front
}

type entry struct {
	key    key
	vector []float32
}

func (e *entry) bytes() int64 { return int64(4*len(e.vector)) + entryOverhead }

func newMemory(limit int64) *memory {
	return &memory{limit: limit, byKey: map[key]*list.Element{}, recent: list.New()}
}

// get returns a vector that nobody may change.
func (m *memory) get(k key) []float32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.byKey[k]
	if at == nil {
		return nil
	}
	m.recent.MoveToFront(at)
	return at.Value.(*entry).vector //nolint:forcetypeassert // it holds nothing else
}

// add keeps a vector that nobody changes any more.
func (m *memory) add(k key, vector []float32) {
	e := &entry{k, vector}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.bytes() > m.limit || m.byKey[k] != nil {
		return
	}
	m.byKey[k] = m.recent.PushFront(e)
	m.bytes += e.bytes()
	for m.bytes > m.limit {
		oldest := m.recent.Remove(m.recent.Back()).(*entry) //nolint:forcetypeassert // as above
		delete(m.byKey, oldest.key)
		m.bytes -= oldest.bytes()
	}
}

func (m *memory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes, m.byKey, m.recent = 0, map[key]*list.Element{}, list.New()
}

func (m *memory) size() (bytes, vectors int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes, int64(len(m.byKey))
}
