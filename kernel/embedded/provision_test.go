//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/embedded"
)

func TestMissingBinaries(t *testing.T) {
	t.Parallel()
	_, err := embedded.Start(t.Context(), embedded.Config{Dir: clusterDir(t), CacheDir: filepath.Join(openDir(t), "cache"), NoProvision: true})
	if err == nil {
		t.Skip("this machine has PostgreSQL with pgvector installed")
	}
	var missing *embedded.MissingError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, embedded.Remedy(), missing.Command)
	require.Contains(t, err.Error(), missing.Command)
	require.NoError(t, missing.Err)

	_, err = embedded.Start(t.Context(), embedded.Config{Dir: clusterDir(t), BinDir: openDir(t)})
	require.ErrorContains(t, err, "BinDir")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestBinariesAreChecked uses scripts in place of PostgreSQL.
func TestBinariesAreChecked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, version, control, want string }{
		{"old server", "14.2", "0.8.0", "too old"},
		{"no extension", "17.1", "", "without pgvector"},
		{"old extension", "17.1", "0.6.2", "pgvector 0.6.2 is too old"},
		{"no version", "", "0.8.0", "unknown version"},
		{"good", "17.1", "0.8.0", "initdb"}, // the script then fails as initdb
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := openDir(t)
			bin, extension := filepath.Join(root, "bin"), filepath.Join(root, "share", "postgresql", "extension")
			require.NoError(t, os.MkdirAll(bin, 0o755))
			require.NoError(t, os.MkdirAll(extension, 0o755))
			script := "#!/bin/sh\n[ \"$1\" = --version ] && echo 'postgres (PostgreSQL) " + tt.version + "'\n"
			for _, name := range []string{"postgres", "initdb"} {
				require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755))
			}
			if tt.control != "" {
				control := "comment = 'x'\ndefault_version = '" + tt.control + "'\n"
				require.NoError(t, os.WriteFile(filepath.Join(extension, "vector.control"), []byte(control), 0o644))
			}
			_, err := embedded.Start(t.Context(), embedded.Config{Dir: clusterDir(t), BinDir: bin})
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestWrongMajorVersion(t *testing.T) {
	t.Parallel()
	dir := clusterDir(t)
	s := start(t, embedded.Config{Dir: dir})
	require.NoError(t, s.Close(t.Context()))
	version := filepath.Join(dir, "data", "PG_VERSION")
	was, err := os.ReadFile(version)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(version, []byte("9\n"), 0o600))
	_, err = embedded.Start(t.Context(), embedded.Config{Dir: dir, NoProvision: true})
	var wrong *embedded.VersionError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, 9, wrong.Cluster)
	require.NoError(t, os.WriteFile(version, was, 0o600))
	start(t, embedded.Config{Dir: dir})
}

// cancelWhen cancels a context when a line of progress contains a text.
type cancelWhen struct {
	text   string
	cancel context.CancelFunc
}

func (c *cancelWhen) Write(p []byte) (int, error) {
	if strings.Contains(string(p), c.text) {
		c.cancel()
	}
	return len(p), nil
}

func TestProvisioning(t *testing.T) {
	t.Parallel()
	needProvisioning(t)
	cache := filepath.Join(openDir(t), "cache")

	// Interrupted: nothing is left that looks complete, and no child goes on working.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := embedded.Start(ctx, embedded.Config{
		Dir: clusterDir(t), CacheDir: cache, Progress: &cancelWhen{"downloading", cancel},
	})
	if err == nil {
		t.Skip("this machine has PostgreSQL with pgvector installed")
	}
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, trees(t, cache))

	// Killed: likewise, and the next one clears up.
	h := startHelper(t, helperConfig{Dir: clusterDir(t), CacheDir: cache}, 0)
	eventually(t, "provisioning to begin", func() bool { return strings.Contains(h.stderr.String(), "reading the package lists") })
	h.kill(t)
	require.Empty(t, trees(t, cache))

	// Several at once share one.
	var helpers []*helper
	for range 3 {
		helpers = append(helpers, startHelper(t, helperConfig{Dir: clusterDir(t), CacheDir: cache}, 0))
	}
	builders := 0
	for _, h := range helpers {
		require.Empty(t, h.report(t).Error)
		if strings.Contains(h.stderr.String(), "downloading") {
			builders++
		}
	}
	require.Equal(t, 1, builders)
	require.Len(t, trees(t, cache), 1)

	// What is there is used, without a word.
	h = startHelper(t, helperConfig{Dir: clusterDir(t), CacheDir: cache}, 0)
	require.Empty(t, h.report(t).Error)
	require.Empty(t, h.stderr.String())
	left, err := filepath.Glob(filepath.Join(cache, "trees-*", ".build-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func trees(t *testing.T, cache string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(cache, "trees-*", "[^.]*"))
	require.NoError(t, err)
	return found
}

// TestOrdinaryUser provisions and runs as a user without privileges.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	needRoot(t)
	needProvisioning(t)
	const nobody = 65534
	home := homeOf(t, nobody)
	h := startHelper(t, helperConfig{CacheDir: filepath.Join(home, "cache")}, nobody, "HOME="+home, "XDG_RUNTIME_DIR=", "XDG_DATA_HOME=", "XDG_CACHE_HOME=")
	r := h.report(t)
	require.Empty(t, r.Error, h.stderr.String())
	require.Equal(t, filepath.Join(home, ".local", "share", "memkernel", "postgres", "default"), r.Dir)
	exec1(t, r.URL, `CREATE EXTENSION vector`)
}

// TestUserWithoutPasswdEntry is a container started with a bare uid.
func TestUserWithoutPasswdEntry(t *testing.T) {
	t.Parallel()
	needRoot(t)
	needProvisioning(t)
	const uid = 54322
	start(t, embedded.Config{Ephemeral: true}) // provisions root's cache, if need be
	home := homeOf(t, uid)
	h := startHelper(t, helperConfig{Dir: filepath.Join(home, "cluster")}, uid, "HOME="+home, "XDG_RUNTIME_DIR=", "XDG_CACHE_HOME=")
	r := h.report(t)
	require.Empty(t, r.Error, h.stderr.String())
	exec1(t, r.URL, `CREATE EXTENSION vector`)
}

func homeOf(t *testing.T, uid int) string {
	t.Helper()
	home := filepath.Join(openDir(t), "home")
	require.NoError(t, os.Mkdir(home, 0o700))
	require.NoError(t, os.Chown(home, uid, uid))
	return home
}

func TestCacheOfSomebodyElse(t *testing.T) {
	t.Parallel()
	needProvisioning(t)
	cache := filepath.Join(openDir(t), "cache")
	require.NoError(t, os.Mkdir(cache, 0o700))
	require.NoError(t, os.Chmod(cache, 0o777))
	_, err := embedded.Start(t.Context(), embedded.Config{Dir: clusterDir(t), CacheDir: cache})
	if err == nil {
		t.Skip("this machine has PostgreSQL with pgvector installed")
	}
	require.ErrorContains(t, err, "writable by nobody else")
	require.False(t, errors.Is(err, context.Canceled))
}
