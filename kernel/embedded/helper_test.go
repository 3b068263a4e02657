//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/embedded"
)

// helperEnv makes the test binary behave as a host of its own: it starts a server as
// helperConfig says, reports, and closes it when its standard input ends.
const helperEnv = "MEMKERNEL_EMBEDDED_TEST_HELPER"

type helperConfig struct {
	Dir       string
	CacheDir  string
	Ephemeral bool
	Connect   string // only connect to this address
}

type helperReport struct {
	Dir, URL, Error string
	PID             int
}

func TestMain(m *testing.M) {
	if text := os.Getenv(helperEnv); text != "" {
		help(text)
		return
	}
	os.Exit(m.Run())
}

func help(text string) {
	ctx := context.Background()
	var c helperConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		panic(err)
	}
	report := func(r helperReport) { _ = json.NewEncoder(os.Stdout).Encode(r) }
	if c.Connect != "" {
		r := helperReport{}
		if conn, err := pgconn.Connect(ctx, c.Connect); err != nil {
			r.Error = err.Error()
		} else {
			_ = conn.Close(ctx)
		}
		report(r)
		return
	}
	s, err := embedded.Start(ctx, embedded.Config{Dir: c.Dir, CacheDir: c.CacheDir, Ephemeral: c.Ephemeral})
	if err != nil {
		report(helperReport{Error: err.Error()})
		return
	}
	report(helperReport{Dir: s.Dir(), URL: s.ConnString(), PID: s.PID()})
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Close(ctx); err != nil {
		panic(err)
	}
}

// helper is a running helper process.
type helper struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr syncBuffer
}

type syncBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

// startHelper starts a helper, as another user if uid is not 0.
func startHelper(t *testing.T, c helperConfig, uid int, env ...string) *helper {
	t.Helper()
	text, err := json.Marshal(c)
	require.NoError(t, err)
	h := &helper{cmd: exec.Command(os.Args[0])}
	if uid != 0 {
		h.cmd.Path = copyBinary(t) // the go command's own directory is closed to others
		h.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	h.cmd.Dir = "/"
	h.cmd.Env = append(append(os.Environ(), helperEnv+"="+string(text)), env...)
	h.cmd.Stderr = &h.stderr
	h.stdin, err = h.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := h.cmd.StdoutPipe()
	require.NoError(t, err)
	h.stdout = bufio.NewReader(stdout)
	require.NoError(t, h.cmd.Start())
	t.Cleanup(func() {
		if h.cmd.ProcessState == nil {
			_ = h.stdin.Close()
			_ = h.cmd.Wait()
		}
	})
	return h
}

// report waits for the helper's report.
func (h *helper) report(t *testing.T) helperReport {
	t.Helper()
	var r helperReport
	line, err := h.stdout.ReadBytes('\n')
	require.NoError(t, err, h.stderr.String())
	require.NoError(t, json.Unmarshal(line, &r))
	return r
}

// kill kills the helper and waits until it is gone.
func (h *helper) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, h.cmd.Process.Kill())
	_ = h.cmd.Wait()
}

func copyBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(openDir(t), "helper")
	text, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o755))
	return path
}

// openDir is a temporary directory that other users may enter, unlike t.TempDir: when the
// tests run as root, the server runs as somebody else.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(os.TempDir(), "mkt-") //nolint:usetesting // closed to other users
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func clusterDir(t *testing.T) string {
	t.Helper()
	return filepath.Join(openDir(t), "cluster")
}

// start starts a server that is closed at the end of the test.
func start(t *testing.T, c embedded.Config) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
	return s
}

func exec1(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func query1(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	var v string
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&v))
	return v
}

// eventually waits for another process, which cannot tell us.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	require.Eventually(t, f, 20*time.Second, 5*time.Millisecond, what)
}

// gone reports whether no process has the id. A zombie that nobody reaps counts as gone.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	return err == nil && statusZombie.Match(stat)
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to act as another user")
	}
}

func needProvisioning(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("downloads packages")
	}
	release := embedded.ReadOSRelease("/etc/os-release")
	if _, err := exec.LookPath("apt-get"); err != nil || len(embedded.SuitesFor(release)) == 0 {
		t.Skip("no provisioning on this platform")
	}
}

var statusZombie = regexp.MustCompile(`(?m)^State:\s+Z`)
