package embedcache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/kernel/model/embedcache"
)

// fake is a model that says how long a text is, and remembers what it was asked.
type fake struct {
	info model.Info
	mu   sync.Mutex
	// asked holds the texts of each call.
	asked [][]string
	err   error
	// spoil changes the answer.
	spoil func([][]float32) [][]float32
}

func newFake() *fake { return &fake{info: model.Info{Name: "fake", Revision: "1", Dim: 3}} }

func (f *fake) Info() model.Info { return f.info }

func (f *fake) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, slices.Clone(texts))
	if err := errors.Join(f.err, ctx.Err()); err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = []float32{float32(len(t)), 1, float32(t[0])}
	}
	if f.spoil != nil {
		out = f.spoil(out)
	}
	return out, nil
}

// taken returns what was asked since the last time.
func (f *fake) taken() [][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() { f.asked = nil }()
	return f.asked
}

func open(t *testing.T, f model.Embedder, cfg embedcache.Config) *embedcache.Cache {
	t.Helper()
	c, err := embedcache.New(f, cfg)
	require.NoError(t, err)
	return c
}

func embed(t *testing.T, e model.Embedder, texts ...string) [][]float32 {
	t.Helper()
	out, err := e.Embed(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, out, len(texts))
	for i, text := range texts {
		require.Equal(t, []float32{float32(len(text)), 1, float32(text[0])}, out[i], text)
	}
	return out
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	f := newFake()
	c := open(t, f, embedcache.Config{})
	require.Equal(t, f.info, c.Info())
	embed(t, c, "one", "three", "one")
	require.Equal(t, [][]string{{"one", "three"}}, f.taken())
	got := embed(t, c, "three", "four", "one", "four")
	require.Equal(t, [][]string{{"four"}}, f.taken())
	for _, v := range got { // what a caller does to its vectors is its own affair
		v[0] = -1
	}
	embed(t, c, "one", "three", "four")
	embed(t, c)
	require.Empty(t, f.taken())
	require.Equal(t, embedcache.Stats{Hits: 5, Misses: 3, Bytes: c.Stats().Bytes, Vectors: 3}, c.Stats())
	require.NoError(t, c.Purge())
	require.Zero(t, c.Stats().Bytes)
	embed(t, c, "one")
	require.Len(t, f.taken(), 1)
}

func TestFailuresAreNotRemembered(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	for name, tc := range map[string]struct {
		err   error
		spoil func([][]float32) [][]float32
		want  error
	}{
		"an error":     {err: down, want: down},
		"one too few":  {spoil: func(v [][]float32) [][]float32 { return v[1:] }, want: embedcache.ErrMalformed},
		"one too many": {spoil: func(v [][]float32) [][]float32 { return append(v, v[0]) }, want: embedcache.ErrMalformed},
		"no number":    {spoil: func(v [][]float32) [][]float32 { v[0][1] = float32(math.NaN()); return v }},
		"too long":     {spoil: func(v [][]float32) [][]float32 { v[0] = append(v[0], 1); return v }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.err, f.spoil = tc.err, tc.spoil
			c := open(t, f, embedcache.Config{Dir: t.TempDir()})
			out, err := c.Embed(t.Context(), []string{"one"})
			require.ErrorIs(t, err, tc.want)
			require.Equal(t, tc.want != nil, out == nil, "what is wrong with a vector, the caller finds")
			f.err, f.spoil = nil, nil
			f.taken()
			embed(t, c, "one")
			require.Len(t, f.taken(), 1)
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := open(t, newFake(), embedcache.Config{})
	_, err := c.Embed(ctx, []string{"one"})
	require.ErrorIs(t, err, context.Canceled)
}

// TestMakers: a vector is only used for the model that made it, wherever that is served.
func TestMakers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	is := func(change func(*model.Info)) *fake {
		f := newFake()
		change(&f.info)
		return f
	}
	base := embedcache.Config{Provider: "p", Endpoint: "e", Epoch: "1", Dir: dir}
	embed(t, open(t, newFake(), base), "one")
	same := newFake()
	embed(t, open(t, same, base), "one")
	require.Empty(t, same.taken())
	other := func(change func(*embedcache.Config)) embedcache.Config {
		cfg := base
		change(&cfg)
		return cfg
	}
	for name, tc := range map[string]struct {
		f   *fake
		cfg embedcache.Config
	}{
		"provider": {newFake(), other(func(c *embedcache.Config) { c.Provider = "q" })},
		"endpoint": {newFake(), other(func(c *embedcache.Config) { c.Endpoint = "f" })},
		"epoch":    {newFake(), other(func(c *embedcache.Config) { c.Epoch = "2" })},
		"parts":    {newFake(), other(func(c *embedcache.Config) { c.Provider, c.Endpoint = "pe", "" })},
		"name":     {is(func(i *model.Info) { i.Name = "g" }), base},
		"revision": {is(func(i *model.Info) { i.Revision = "2" }), base},
	} {
		embed(t, open(t, tc.f, tc.cfg), "one")
		require.Len(t, tc.f.taken(), 1, name)
	}
	wide := is(func(i *model.Info) { i.Dim = 4 })
	_, err := open(t, wide, base).Embed(t.Context(), []string{"one"})
	require.NoError(t, err)
	require.Len(t, wide.taken(), 1, "dimension")
	embed(t, open(t, same, base), "one")
	require.Empty(t, same.taken(), "it is still there")
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	f := newFake()
	const limit = 2_500 // some ten vectors
	c := open(t, f, embedcache.Config{MaxBytes: limit})
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
		embed(t, c, texts[i], texts[0])
		require.LessOrEqual(t, c.Stats().Bytes, int64(limit))
	}
	require.Greater(t, c.Stats().Vectors, int64(5))
	require.Equal(t, int64(100), c.Stats().Misses, "what was used last is kept")
	f.taken()
	embed(t, c, texts[0], texts[99])
	require.Empty(t, f.taken())
	embed(t, c, texts[1])
	require.Len(t, f.taken(), 1)

	none := newFake()
	c = open(t, none, embedcache.Config{MaxBytes: -1})
	embed(t, c, "one")
	embed(t, c, "one")
	require.Len(t, none.taken(), 2)
}

// accounts is a model that is asked on behalf of tenants.
type accounts struct {
	*fake

	tenants map[string]*fake
}

func (a *accounts) For(tenant string) model.Embedder { return a.tenants[tenant] }

func TestTenants(t *testing.T) {
	t.Parallel()
	a := &accounts{newFake(), map[string]*fake{"acme": newFake(), "umbrella": newFake()}}
	c := open(t, a, embedcache.Config{})
	embed(t, c.For("acme"), "one")
	embed(t, c.For("umbrella"), "one", "three")
	require.Equal(t, [][]string{{"one"}}, a.tenants["acme"].taken())
	require.Equal(t, [][]string{{"three"}}, a.tenants["umbrella"].taken())
	require.Empty(t, a.taken())
	plain := open(t, newFake(), embedcache.Config{})
	embed(t, plain.For("acme"), "one")
}

func vectors(t *testing.T, dir string) (paths []string, bytes int64) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			info, err := e.Info()
			require.NoError(t, err)
			paths, bytes = append(paths, path), bytes+info.Size()
		}
		return err
	}))
	return paths, bytes
}

func TestDisk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "cache")
	const secret = "the combination is 4711"
	embed(t, open(t, newFake(), embedcache.Config{Dir: dir}), secret, "two")
	paths, _ := vectors(t, dir)
	require.Len(t, paths, 2)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotContains(t, path+string(content), "combination")
		require.False(t, bytes.Contains(content, []byte("4711")))
	}
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())

	f := newFake()
	c := open(t, f, embedcache.Config{Dir: dir})
	embed(t, c, "two", secret)
	embed(t, c, secret)
	require.Empty(t, f.taken())
	require.Equal(t, int64(2), c.Stats().DiskHits)
	require.Equal(t, int64(1), c.Stats().Hits)

	// What is damaged is asked for again, and mended.
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		content[9] ^= 1
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	c = open(t, f, embedcache.Config{Dir: dir})
	embed(t, c, secret, "two")
	require.Len(t, f.taken(), 1)
	require.Equal(t, int64(2), c.Stats().DiskFaults)
	embed(t, open(t, f, embedcache.Config{Dir: dir}), secret, "two")
	require.Empty(t, f.taken())

	// Nobody else's files go.
	mine := filepath.Join(dir, "readme.txt")
	require.NoError(t, os.WriteFile(mine, nil, 0o600))
	require.NoError(t, c.Purge())
	paths, _ = vectors(t, dir)
	require.Equal(t, []string{mine}, paths)
}

// TestDiskIsBounded has two processes' worth of caches fill one directory.
func TestDiskIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const limit = 100 * 26 // a hundred vectors of three components
	cfg := embedcache.Config{Dir: dir, MaxDiskBytes: limit, MaxBytes: -1}
	var group sync.WaitGroup
	for p := range 2 {
		c := open(t, newFake(), cfg)
		for w := range 2 {
			group.Go(func() {
				for i := range 300 {
					if _, err := c.Embed(context.Background(), []string{fmt.Sprint(p, w, i)}); err != nil {
						t.Error(err)
					}
				}
				if n := c.Stats().DiskFaults; n > 0 {
					t.Error(n, "faults")
				}
			})
		}
	}
	group.Wait()
	_, size := vectors(t, dir)
	require.LessOrEqual(t, size, int64(limit+2*limit/16+2*26))
	require.GreaterOrEqual(t, size, int64(limit/2))
}

// TestOldestGoesFirst: what was used lately stays, and what was never finished goes.
func TestOldestGoesFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := embedcache.Config{Dir: dir, MaxDiskBytes: 20 * 26, MaxBytes: -1}
	c := open(t, newFake(), cfg)
	embed(t, c, "keep me")
	kept, _ := vectors(t, dir)
	long := time.Now().Add(-48 * time.Hour)
	require.NoError(t, os.Chtimes(kept[0], long, long))
	for i := range 10 {
		embed(t, c, fmt.Sprint("old ", i))
	}
	old, _ := vectors(t, dir)
	for _, path := range old {
		if path != kept[0] {
			require.NoError(t, os.Chtimes(path, long.Add(time.Hour), long.Add(time.Hour)))
		}
	}
	half := filepath.Join(filepath.Dir(kept[0]), "new-1")
	require.NoError(t, os.WriteFile(half, []byte("x"), 0o600))
	require.NoError(t, os.Chtimes(half, long, long))
	embed(t, c, "keep me") // it is the oldest, and used
	for i := range 15 {
		embed(t, c, fmt.Sprint("young ", i))
	}
	left, _ := vectors(t, dir)
	require.Contains(t, left, kept[0])
	require.NotContains(t, left, half)
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, cfg := range map[string]embedcache.Config{
		"a file":      {Dir: file},
		"no room":     {Dir: t.TempDir(), MaxDiskBytes: 10},
		"less than 0": {Dir: t.TempDir(), MaxDiskBytes: -1},
	} {
		_, err := embedcache.New(newFake(), cfg)
		require.ErrorIs(t, err, embedcache.ErrConfig, name)
	}
	_, err := embedcache.New(nil, embedcache.Config{})
	require.ErrorIs(t, err, embedcache.ErrConfig)
}

// TestDiskThatFails costs questions, and nothing else.
func TestDiskThatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFake()
	c := open(t, f, embedcache.Config{Dir: dir, MaxBytes: -1})
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, []byte(strings.Repeat("x", 10)), 0o600))
	embed(t, c, "one")
	embed(t, c, "one")
	require.Len(t, f.taken(), 2)
	require.Positive(t, c.Stats().DiskFaults)
}
