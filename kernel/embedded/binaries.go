//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// binaries is an installation of PostgreSQL that has pgvector beside it.
type binaries struct {
	dir     string // holds postgres and initdb
	major   int
	vector  string // version of pgvector
	wrapper string // libnss_wrapper.so of a provisioned tree, else ""
}

// findBinaries searches the places in the order that Config describes. want is the major
// version that an existing cluster needs, 0 for any; among the installations of one kind the
// newest wins.
func findBinaries(ctx context.Context, cfg Config, want int, a account) (binaries, error) {
	if cfg.BinDir != "" {
		b, err := inspect(ctx, cfg.BinDir)
		if err != nil {
			return b, fmt.Errorf("embedded: Config.BinDir: %s: %w", cfg.BinDir, err)
		}
		if want != 0 && b.major != want {
			return b, &VersionError{Dir: cfg.Dir, Cluster: want, Err: fmt.Errorf("Config.BinDir holds PostgreSQL %d", b.major)}
		}
		return b, nil
	}
	var rejected []string
	// A user without a passwd entry needs the wrapper library that only our trees bring.
	if b, ok := newest(ctx, systemBinDirs(), want, &rejected); ok && !a.unknown {
		return b, nil
	} else if ok {
		rejected = append(rejected, b.dir+": refuses a user without a passwd entry")
	}
	if b, ok := newest(ctx, cachedBinDirs(cfg.CacheDir), want, &rejected); ok {
		return b, nil
	}
	if ctx.Err() != nil { // the searches found nothing for that reason
		return binaries{}, fmt.Errorf("embedded: start: %w", context.Cause(ctx))
	}
	var reason error
	if !cfg.NoProvision {
		b, err := provision(ctx, cfg, want)
		if err == nil {
			return b, nil
		}
		if ctx.Err() != nil {
			return binaries{}, fmt.Errorf("embedded: provisioning was interrupted: %w", err)
		}
		if !errors.Is(err, errNoProvision) {
			reason = err
		}
	}
	missing := &MissingError{Command: remedy(), Rejected: rejected, Err: reason}
	if want != 0 {
		return binaries{}, &VersionError{Dir: cfg.Dir, Cluster: want, Err: missing}
	}
	return binaries{}, missing
}

// newest returns the newest acceptable installation among dirs and notes why others are not.
func newest(ctx context.Context, dirs []string, want int, rejected *[]string) (binaries, bool) {
	var found []binaries
	seen := map[string]bool{}
	for _, dir := range dirs {
		resolved, err := filepath.EvalSymlinks(dir)
		if err != nil || seen[resolved] {
			continue
		}
		seen[resolved] = true
		b, err := inspect(ctx, dir)
		switch {
		case errors.Is(err, os.ErrNotExist): // client programs only, or nothing at all
		case err != nil:
			*rejected = append(*rejected, dir+": "+err.Error())
		case want != 0 && b.major != want:
			*rejected = append(*rejected, fmt.Sprintf("%s: PostgreSQL %d, the cluster needs %d", dir, b.major, want))
		default:
			found = append(found, b)
		}
	}
	if len(found) == 0 {
		return binaries{}, false
	}
	return slices.MaxFunc(found, func(x, y binaries) int { return cmp.Compare(x.major, y.major) }), true
}

var postgresVersion = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// inspect checks one directory of binaries. The error says what is wrong with it; it is
// os.ErrNotExist if there is no server in it.
func inspect(ctx context.Context, dir string) (binaries, error) {
	b := binaries{dir: dir}
	for _, name := range []string{"postgres", "initdb"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return b, fmt.Errorf("no server here: %w", err)
		}
	}
	cmd := command(ctx, append(os.Environ(), "LC_ALL=C"), filepath.Join(dir, "postgres"), "--version")
	out, err := run(ctx, cmd)
	if err != nil {
		return b, err
	}
	m := postgresVersion.FindStringSubmatch(out)
	if m == nil {
		return b, fmt.Errorf("unknown version %q", strings.TrimSpace(out))
	}
	b.major, _ = strconv.Atoi(m[1])
	if b.major < MinPostgres {
		return b, fmt.Errorf("PostgreSQL %d is too old", b.major)
	}
	if b.vector = vectorVersion(ctx, dir, b.major); b.vector == "" {
		return b, fmt.Errorf("PostgreSQL %d without pgvector", b.major)
	}
	if !newEnough(b.vector) {
		return b, fmt.Errorf("pgvector %s is too old", b.vector)
	}
	b.wrapper = treeWrapper(dir)
	return b, nil
}

var defaultVersion = regexp.MustCompile(`(?m)^\s*default_version\s*=\s*'([^']+)'`)

// vectorVersion reads the version of the pgvector that belongs to an installation from its
// control file, "" if there is none.
func vectorVersion(ctx context.Context, dir string, major int) string {
	for _, share := range shareDirs(ctx, dir, major) {
		text, err := os.ReadFile(filepath.Join(share, "extension", "vector.control")) //nolint:gosec // an installation's file
		if err != nil {
			continue
		}
		if m := defaultVersion.FindSubmatch(text); m != nil {
			return string(m[1])
		}
	}
	return ""
}

// shareDirs returns where an installation may keep its extensions. pg_config knows, but it
// is often part of a development package; the rest are the usual layouts.
func shareDirs(ctx context.Context, dir string, major int) []string {
	if out, err := exec.CommandContext(ctx, filepath.Join(dir, "pg_config"), "--sharedir").Output(); err == nil { //nolint:gosec // beside the server we run
		return []string{strings.TrimSpace(string(out))}
	}
	n := strconv.Itoa(major)
	up := filepath.Dir(dir)
	return []string{
		filepath.Join(up, "share", "postgresql"),
		filepath.Join(up, "share", "postgresql@"+n),
		filepath.Join(up, "share", "pgsql"),
		filepath.Join(up, "share"),
		filepath.Join(up, "..", "..", "..", "share", "postgresql", n), // Debian: lib/postgresql/N/bin
		filepath.Join(up, "..", "..", "share", "postgresql@"+n),       // Homebrew: opt/postgresql@N/bin
	}
}

// newEnough compares a pgvector version with the oldest accepted one.
func newEnough(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(strings.TrimRight(parts[1], "abcdefghijklmnopqrstuvwxyz-"))
	if err1 != nil || err2 != nil {
		return false
	}
	return major > minVectorMajor || major == minVectorMajor && minor >= minVectorMinor
}

// systemBinDirs lists where installations are found: Debian, PGDG on Red Hat, Homebrew,
// Postgres.app, Alpine, source builds, and whatever pg_config in PATH points to.
func systemBinDirs() []string {
	var dirs []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
		"/usr/libexec/postgresql*",
		"/usr/local/pgsql/bin",
		"/usr/local/bin",
		"/usr/bin",
	} {
		found, _ := filepath.Glob(pattern)
		dirs = append(dirs, found...)
	}
	if path, err := exec.LookPath("pg_config"); err == nil {
		if out, err := exec.Command(path, "--bindir").Output(); err == nil { //nolint:gosec,noctx // PATH is the user's choice
			dirs = append(dirs, strings.TrimSpace(string(out)))
		}
	}
	return dirs
}
