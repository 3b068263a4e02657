package embedcache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/memkernel/memkernel/kernel/model"
)

// The defaults of Config.
const (
	DefaultMaxBytes     = 64 << 20
	DefaultMaxDiskBytes = 1 << 30
)

// ErrConfig reports a configuration that cannot be used.
var ErrConfig = errors.New("embedcache: bad configuration")

// ErrMalformed reports a model that returned another number of vectors than it was given texts.
var ErrMalformed = errors.New("embedcache: the model returned too few or too many vectors")

// Config says whose vectors are remembered and how many.
type Config struct {
	// Provider and Endpoint say where the model is served, such as "openai" and its base URL: a
	// name alone does not say which weights are behind it.
	Provider, Endpoint string
	// Epoch is any text; with another one all that was remembered is as good as forgotten.
	Epoch string
	// MaxBytes bounds what is kept in memory, default 64 MiB; negative for nothing.
	MaxBytes int64
	// Dir is a directory of the cache's own, made if there is none; empty for no disk. Several
	// processes may share it.
	Dir string
	// MaxDiskBytes bounds the directory, default 1 GiB. Each process that writes may be over it by a
	// sixteenth until it looks.
	MaxDiskBytes int64
}

// Cache is an embedder that asks another one only for what it does not remember. It is safe for
// concurrent use. Two calls at once with a text that neither finds both ask.
type Cache struct {
	model model.Embedder
	*shared
}

// shared is what the caches of all tenants have in common.
type shared struct {
	info   model.Info
	maker  [sha256.Size]byte
	memory *memory
	disk   *disk // nil for none

	hits, diskHits, misses, faults atomic.Int64
}

var _ model.TenantEmbedder = (*Cache)(nil)

// New returns a cache in front of a model. ErrConfig reports a nil model, a MaxDiskBytes that does not
// hold one vector though there is a Dir, or a Dir that cannot be made, listed or written.
func New(e model.Embedder, cfg Config) (*Cache, error) {
	if e == nil {
		return nil, fmt.Errorf("%w: the model is nil", ErrConfig)
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = DefaultMaxBytes
	}
	if cfg.MaxDiskBytes == 0 {
		cfg.MaxDiskBytes = DefaultMaxDiskBytes
	}
	info := e.Info()
	s := &shared{info: info, maker: maker(&cfg, &info), memory: newMemory(cfg.MaxBytes)}
	if cfg.Dir != "" {
		if least := int64(fileSize(info.Dim)); cfg.MaxDiskBytes < least {
			return nil, fmt.Errorf("%w: MaxDiskBytes is %d, one vector takes %d", ErrConfig, cfg.MaxDiskBytes, least)
		}
		var err error
		if s.disk, err = openDisk(cfg.Dir, cfg.MaxDiskBytes, info.Dim); err != nil {
			return nil, fmt.Errorf("%w: Dir: %w", ErrConfig, err)
		}
	}
	return &Cache{e, s}, nil
}

// key is what a vector is remembered under.
type key [sha256.Size]byte

// maker hashes who makes the vectors.
func maker(cfg *Config, info *model.Info) [sha256.Size]byte {
	var b []byte
	for _, part := range []string{cfg.Provider, cfg.Endpoint, info.Name, info.Revision, cfg.Epoch} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	return sha256.Sum256(binary.AppendVarint(b, int64(info.Dim)))
}

func (s *shared) key(text string) key {
	return sha256.Sum256(append(s.maker[:], text...))
}

// Info describes the model behind the cache.
func (c *Cache) Info() model.Info { return c.info }

// For returns the cache in front of the model that is asked on behalf of a tenant. What one tenant's
// model has said is not asked for again for another.
func (c *Cache) For(tenant string) model.Embedder {
	if t, ok := c.model.(model.TenantEmbedder); ok {
		return &Cache{t.For(tenant), c.shared}
	}
	return c
}

// Embed returns the vectors of texts, asking the model at most once, for all that is not remembered.
// Its error is the model's, the context's or ErrMalformed; then there are no vectors, and nothing is remembered. A
// disk that fails costs a question to the model, and is counted in Stats.
func (c *Cache) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	missing := map[key][]int{}
	var order []key
	for i, text := range texts {
		k := c.key(text)
		if at, again := missing[k]; again {
			missing[k] = append(at, i)
		} else if out[i] = c.lookUp(k); out[i] == nil {
			missing[k] = []int{i}
			order = append(order, k)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(order) == 0 {
		return out, nil
	}
	ask := make([]string, len(order))
	for i, k := range order {
		ask[i] = texts[missing[k][0]]
	}
	vectors, err := c.model.Embed(ctx, ask)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(ask) {
		return nil, fmt.Errorf("%w: %d for %d texts", ErrMalformed, len(vectors), len(ask))
	}
	c.misses.Add(int64(len(ask)))
	for i, k := range order {
		c.keep(k, vectors[i])
		for _, at := range missing[k] {
			out[at] = slices.Clone(vectors[i])
		}
	}
	return out, nil
}

// lookUp returns a copy of a remembered vector, nil if there is none.
func (s *shared) lookUp(k key) []float32 {
	if v := s.memory.get(k); v != nil {
		s.hits.Add(1)
		return slices.Clone(v)
	}
	if s.disk == nil {
		return nil
	}
	v, err := s.disk.get(k)
	if err != nil {
		s.faults.Add(1)
	}
	if v == nil {
		return nil
	}
	s.diskHits.Add(1)
	s.memory.add(k, v)
	return slices.Clone(v)
}

// keep remembers a vector, unless it is not what the model says that it returns: what is wrong with
// it, the caller finds, and asks again another time.
func (s *shared) keep(k key, v []float32) {
	if len(v) != s.info.Dim || slices.ContainsFunc(v, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }) {
		return
	}
	s.memory.add(k, slices.Clone(v))
	if s.disk != nil {
		if err := s.disk.put(k, v); err != nil {
			s.faults.Add(1)
		}
	}
}

// Purge forgets everything, on disk too, whoever wrote it there and with whatever model. Calls under
// way may remember what they ask for meanwhile. An error is the disk's; memory is empty then.
func (c *Cache) Purge() error {
	c.memory.clear()
	if c.disk == nil {
		return nil
	}
	return c.disk.clear()
}

// Stats counts since New, and says what is kept in memory now.
type Stats struct {
	// Hits were found in memory, DiskHits on disk, and Misses were got from the model; a text that
	// stands in one call twice counts once.
	Hits, DiskHits, Misses int64
	// DiskFaults counts files that could not be read or written.
	DiskFaults int64
	// Bytes and Vectors are in memory.
	Bytes, Vectors int64
}

// Stats returns the counts for all tenants together.
func (c *Cache) Stats() Stats {
	bytes, vectors := c.memory.size()
	return Stats{c.hits.Load(), c.diskHits.Load(), c.misses.Load(), c.faults.Load(), bytes, vectors}
}
