//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// errNoProvision says that this platform's packages cannot be used.
var errNoProvision = errors.New("this platform's packages cannot be provisioned")

const (
	// treesDir holds one directory per provisioned tree. The number is raised when what is
	// made of the packages changes.
	treesDir    = "trees-1"
	buildPrefix = ".build-"
	buildLock   = ".lock"
)

// provision builds a tree of binaries in the cache from the packages of the distribution's
// own archive. Several processes that start at once share one: the first holds a lock, the
// others wait for it and find its result. A tree is built under another name, flushed, and
// renamed, so one that exists is complete.
func provision(ctx context.Context, cfg Config, want int) (binaries, error) {
	release := readOSRelease(releaseFile)
	suites := suitesFor(release)
	if len(suites) == 0 {
		return binaries{}, errNoProvision
	}
	for _, tool := range []string{"apt-get", "apt-cache", "apt-config", "dpkg", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return binaries{}, errNoProvision
		}
	}
	source, ok := distributionSource(readSources("/etc/apt"), release)
	if !ok {
		return binaries{}, fmt.Errorf("embedded: apt is configured with no %s archive", release.id)
	}
	if err := prepareCache(cfg.CacheDir); err != nil {
		return binaries{}, err
	}
	trees := filepath.Join(cfg.CacheDir, treesDir)
	if err := makeDir(trees, 0o755); err != nil {
		return binaries{}, err
	}
	p := newProgress(cfg.Progress)
	lock, err := waitLock(ctx, filepath.Join(trees, buildLock), func() {
		p.say("waiting for another process that is provisioning PostgreSQL")
	})
	if err != nil {
		return binaries{}, fmt.Errorf("embedded: provision: %w", err)
	}
	defer unlock(lock)
	var rejected []string
	if b, ok := newest(ctx, treeBinDirs(trees), want, &rejected); ok {
		return b, nil // made by the process that was waited for
	}
	stale, _ := filepath.Glob(filepath.Join(trees, buildPrefix+"*"))
	for _, dir := range stale {
		if err := os.RemoveAll(dir); err != nil {
			return binaries{}, fmt.Errorf("embedded: remove an unfinished tree: %w", err)
		}
	}
	build, err := os.MkdirTemp(trees, buildPrefix)
	if err != nil {
		return binaries{}, fmt.Errorf("embedded: %w", err)
	}
	defer func() { _ = os.RemoveAll(build) }()
	p.say("provisioning a private PostgreSQL with pgvector in %s", trees)
	var failure error
	for _, suite := range suites {
		a := &apt{dir: filepath.Join(build, suite), release: release, suite: suite, source: source, p: p}
		name, err := buildTree(ctx, a, want)
		if err == nil {
			return install(ctx, filepath.Join(a.dir, "root"), trees, name, want, p)
		}
		failure = errors.Join(failure, err)
		if ctx.Err() != nil {
			break
		}
	}
	return binaries{}, failure
}

// install moves a complete tree into place.
func install(ctx context.Context, root, trees, name string, want int, p *progress) (binaries, error) {
	dirs, _ := filepath.Glob(filepath.Join(root, treeBinPattern))
	var rejected []string
	if _, ok := newest(ctx, dirs, want, &rejected); !ok {
		return binaries{}, fmt.Errorf("embedded: the provisioned tree is unusable: %s", strings.Join(rejected, "; "))
	}
	flush()
	target := filepath.Join(trees, name)
	if err := os.RemoveAll(target); err != nil { // unusable, or newest would have found it
		return binaries{}, fmt.Errorf("embedded: %w", err)
	}
	if err := os.Rename(root, target); err != nil {
		return binaries{}, fmt.Errorf("embedded: %w", err)
	}
	dirs, _ = filepath.Glob(filepath.Join(target, treeBinPattern))
	b, ok := newest(ctx, dirs, want, &rejected)
	if !ok {
		return b, fmt.Errorf("embedded: the provisioned tree is unusable: %s", strings.Join(rejected, "; "))
	}
	p.say("ready: PostgreSQL %d, pgvector %s", b.major, b.vector)
	return b, nil
}

const treeBinPattern = "usr/lib/postgresql/*/bin"

func treeBinDirs(trees string) []string {
	dirs, _ := filepath.Glob(filepath.Join(trees, "[^.]*", treeBinPattern))
	return dirs
}

// cachedBinDirs lists the trees in the given cache and, if that is the default one, in
// root's. A cache that somebody else could have written to is passed over: its programs
// would run as us.
func cachedBinDirs(cache string) []string {
	var dirs []string
	if fi, err := os.Stat(cache); err == nil && ownedByUs(fi) && fi.Mode().Perm()&0o022 == 0 {
		dirs = treeBinDirs(filepath.Join(cache, treesDir))
	}
	if cache == systemCache || cache != cacheHome() {
		return dirs
	}
	if fi, err := os.Stat(systemCache); err == nil && ownedByRoot(fi) && fi.Mode().Perm()&0o022 == 0 {
		dirs = append(dirs, treeBinDirs(filepath.Join(systemCache, treesDir))...)
	}
	return dirs
}

// prepareCache creates the cache directory or checks that an existing one is ours alone.
func prepareCache(cache string) error {
	if err := makeDir(cache, 0o755); err != nil {
		return err
	}
	fi, err := os.Stat(cache)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	if !ownedByUs(fi) || fi.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("embedded: the cache directory %s must belong to the current user and be writable by nobody else", cache)
	}
	return nil
}

// treeSize returns the bytes of all files below dir.
func treeSize(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // files come and go while apt works
		}
		if fi, err := d.Info(); err == nil && fi.Mode().IsRegular() {
			n += fi.Size()
		}
		return nil
	})
	return n
}
