package embedcache

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// disk keeps each vector in a file of its own, which appears whole or not at all, so that any number
// of processes can share a directory without a lock. A file that is damaged is as good as none.
type disk struct {
	dir   string
	limit int64
	dim   int

	mu sync.Mutex
	// written is how many bytes were added since the directory was looked through.
	written int64
}

const (
	fileMagic   = "mkemb\x01"
	fileSuffix  = ".vec"
	newPrefix   = "new-"
	checksumLen = 8
	// touchAfter is how old the mark of a file's last use may grow before it is renewed.
	touchAfter = time.Hour
)

// fileSize is how large the file of a vector is.
func fileSize(dim int) int { return len(fileMagic) + 4*dim + checksumLen }

func openDisk(dir string, limit int64, dim int) (*disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err //nolint:wrapcheck // it names the path
	}
	probe, err := os.CreateTemp(dir, newPrefix+"*")
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the path
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return nil, err
	}
	d := &disk{dir: dir, limit: limit, dim: dim}
	return d, d.shrink()
}

// path spreads files over 256 directories.
func (d *disk) path(k key) string {
	name := hex.EncodeToString(k[:])
	return filepath.Join(d.dir, name[:2], name[2:]+fileSuffix)
}

// get returns a vector, nil if there is none. An error says why one could not be read; a damaged file
// is removed.
func (d *disk) get(k key) ([]float32, error) {
	path := d.path(k)
	b, err := os.ReadFile(path) //nolint:gosec // a hash below the directory of the options
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err //nolint:wrapcheck // only counted
	}
	v := decode(b, d.dim)
	if v == nil {
		return nil, errors.Join(fmt.Errorf("%s is damaged", path), remove(path))
	}
	if info, err := os.Stat(path); err == nil && age(info.ModTime()) > touchAfter {
		_ = os.Chtimes(path, time.Time{}, time.Now()) //nolint:forbidigo // as in age; it may be gone by now
	}
	return v, nil
}

func (d *disk) put(k key, v []float32) error {
	path := d.path(k)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err //nolint:wrapcheck // only counted
	}
	if err := writeWhole(path, encode(v)); err != nil {
		return err
	}
	d.mu.Lock()
	d.written += int64(fileSize(len(v)))
	due := d.written > d.limit/16
	if due {
		d.written = 0
	}
	d.mu.Unlock()
	if due {
		return d.shrink()
	}
	return nil
}

// writeWhole makes a file appear with all of its content.
func writeWhole(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), newPrefix+"*")
	if err != nil {
		return err //nolint:wrapcheck // only counted
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what failed is told already
	}
	return err //nolint:wrapcheck // only counted
}

// file is one of the cache's.
type file struct {
	path string
	size int64
	used time.Time
	// unfinished reports that it is no vector yet, or never was one.
	unfinished bool
}

// files lists the cache's own files, and nothing else that somebody may have put there. What another
// process removes meanwhile is left out.
func (d *disk) files() ([]file, error) {
	shards, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the path
	}
	var out []file
	for _, shard := range shards {
		if _, err := hex.DecodeString(shard.Name()); err != nil || len(shard.Name()) != 2 || !shard.IsDir() {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(d.dir, shard.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err //nolint:wrapcheck // it names the path
		}
		for _, e := range entries {
			vector, fresh := strings.HasSuffix(e.Name(), fileSuffix), strings.HasPrefix(e.Name(), newPrefix)
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() && (vector || fresh) {
				out = append(out, file{filepath.Join(d.dir, shard.Name(), e.Name()), info.Size(), info.ModTime(), !vector})
			}
		}
	}
	return out, nil
}

// shrink removes what was not used for longest until there is room again, and files that were never
// finished.
func (d *disk) shrink() error {
	files, err := d.files()
	if err != nil {
		return err
	}
	var total int64
	for _, f := range files {
		total += f.size
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	full := total > d.limit
	for _, f := range files {
		keep := !full || total <= d.limit-d.limit/8
		if f.unfinished { // somebody is about to finish it, unless it is old
			keep = age(f.used) <= touchAfter
		}
		if keep {
			continue
		}
		if err := remove(f.path); err != nil {
			return err
		}
		total -= f.size
	}
	return nil
}

// clear removes every vector.
func (d *disk) clear() error {
	files, err := d.files()
	for _, f := range files {
		err = errors.Join(err, remove(f.path))
	}
	return err
}

// age is by the clock that stamps files, which no other may be compared with.
func age(stamp time.Time) time.Duration {
	return time.Since(stamp) //nolint:forbidigo // the file system's time
}

// remove removes a file unless another process has.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err //nolint:wrapcheck // it names the path
	}
	return nil
}

func encode(v []float32) []byte {
	b := make([]byte, 0, fileSize(len(v)))
	b = append(b, fileMagic...)
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:checksumLen]...)
}

// decode returns the vector in a file, nil if it is damaged.
func decode(b []byte, dim int) []float32 {
	if len(b) != fileSize(dim) || string(b[:len(fileMagic)]) != fileMagic {
		return nil
	}
	body, sum := b[:len(b)-checksumLen], b[len(b)-checksumLen:]
	if want := sha256.Sum256(body); string(want[:checksumLen]) != string(sum) {
		return nil
	}
	v := make([]float32, dim)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[len(fileMagic)+4*i:]))
	}
	return v
}
