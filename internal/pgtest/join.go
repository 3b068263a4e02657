//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pgtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/queries"
)

// Files in the shared directory.
//
//   - gate.lock: held by a test binary that looks for the server or starts it.
//   - users.lock: held shared by every test binary that uses the server, until it ends; the
//     host takes it exclusively, so it gets it when the last one is gone, killed or not.
//   - host.lock: held by the host for as long as it lives.
//   - state.json: present while the server accepts connections.
//   - clean: present while the cluster is shut down properly and may be used again. It was
//     written without fsync, so any other one is thrown away.
const (
	gateFile    = "gate.lock"
	usersFile   = "users.lock"
	hostFile    = "host.lock"
	stateFile   = "state.json"
	cleanFile   = "clean"
	clusterName = "cluster"
	hostLogFile = "host.log"
)

// joinTimeout bounds finding or starting the server, provisioning of binaries included.
const joinTimeout = 5 * time.Minute

// state is what the host tells the test binaries.
type state struct {
	URL string `json:"url"`
	PID int    `json:"pid"` // of the host
}

// join finds the shared server or starts it. The returned file must stay open for as long as
// the server is used.
func join(ctx context.Context) (string, *os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	dir, err := sharedDir()
	if err != nil {
		return "", nil, err
	}
	gate, err := waitFlock(ctx, filepath.Join(dir, gateFile), syscall.LOCK_EX)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = gate.Close() }()
	// From here on the host does not stop the server. If it is about to, it holds the lock
	// until it has finished.
	users, err := waitFlock(ctx, filepath.Join(dir, usersFile), syscall.LOCK_SH)
	if err != nil {
		return "", nil, err
	}
	url, err := findOrStart(ctx, dir)
	if err != nil {
		_ = users.Close()
		return "", nil, err
	}
	return url, users, nil
}

func findOrStart(ctx context.Context, dir string) (string, error) {
	for {
		if url, ok := find(ctx, dir); ok {
			return url, nil
		}
		err := startHost(ctx, dir)
		if err == nil {
			url, ok := find(ctx, dir)
			if !ok {
				return "", errors.New("the shared server ended at once; see " + filepath.Join(dir, hostLogFile))
			}
			return url, tidy(ctx, url)
		}
		// Another host may be starting for a test binary that was killed meanwhile, or ending.
		if !errors.Is(err, errHostBusy) {
			return "", err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return "", fmt.Errorf("wait for the shared server: %w", err)
		}
	}
}

// find returns the running server's connection string.
func find(ctx context.Context, dir string) (string, bool) {
	text, err := os.ReadFile(filepath.Join(dir, stateFile)) //nolint:gosec // our own directory
	if err != nil {
		return "", false
	}
	var s state
	if json.Unmarshal(text, &s) != nil {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err = withConn(ctx, s.URL, func(context.Context, *pgx.Conn) error { return nil })
	return s.URL, err == nil
}

var errHostBusy = errors.New("another host holds the shared directory")

// startHost starts the host and waits until it has started the server.
func startHost(ctx context.Context, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the test binary: %w", err)
	}
	if runtime.GOOS == "linux" {
		self = "/proc/self/exe" // works even if the file has been deleted
	}
	log, err := os.OpenFile(filepath.Join(dir, hostLogFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // our own directory
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = log.Close() }()
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	defer func() { _ = reader.Close() }()
	cmd := exec.Command(self) //nolint:gosec,noctx // this very binary; it outlives ctx
	cmd.Args = []string{"memkernel-pgtest-host"}
	cmd.Env = append(os.Environ(), envHost+"="+dir)
	cmd.Dir = "/"
	// No descriptor of ours: "go test" waits until all copies of its pipes are closed.
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{writer}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = writer.Close()
	if err != nil {
		return fmt.Errorf("start the host of the shared server: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = reader.Close() })
	defer stop()
	for lines := bufio.NewScanner(reader); lines.Scan(); {
		line := lines.Text()
		switch {
		case line == msgReady:
			return releaseHost(cmd)
		case line == msgBusy:
			_ = cmd.Wait()
			return errHostBusy
		case strings.HasPrefix(line, msgFailed):
			_ = cmd.Wait()
			return errors.New("start the shared server: " + strings.TrimPrefix(line, msgFailed))
		default:
			fmt.Fprintln(os.Stderr, line) // progress of provisioning
		}
	}
	_ = cmd.Process.Release()
	if ctx.Err() != nil {
		return fmt.Errorf("wait for the shared server: %w", context.Cause(ctx))
	}
	return errors.New("the host of the shared server ended without a word; see " + log.Name())
}

func releaseHost(cmd *exec.Cmd) error {
	if err := cmd.Process.Release(); err != nil {
		return fmt.Errorf("release the host: %w", err)
	}
	return nil
}

// tidy drops what killed test binaries left behind, and all but the newest templates. Only
// the binary that has just started the server calls it, with the gate locked: no test runs.
func tidy(ctx context.Context, url string) error {
	const keptTemplates = 3
	return withConn(ctx, url, func(ctx context.Context, conn *pgx.Conn) error {
		names, err := queries.DatabaseList(ctx, conn, databasePrefix)
		if err != nil {
			return err
		}
		templates, err := queries.DatabaseList(ctx, conn, templatePrefix)
		if err != nil {
			return err
		}
		names = append(names, templates[:max(0, len(templates)-keptTemplates)]...)
		for _, name := range names {
			if err := queries.DatabaseDrop(ctx, conn, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// sharedDir creates the directory that the user's test binaries share, and makes sure that
// nobody else has made it for them.
func sharedDir() (string, error) {
	dir := os.Getenv(EnvDir)
	if dir == "" {
		base := os.TempDir()
		if os.Geteuid() == 0 && !open(base) {
			base = "/tmp" // the server runs as another user, who must get there
		}
		dir = filepath.Join(base, "memkernel-pgtest-"+strconv.Itoa(os.Geteuid()))
	}
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return "", fmt.Errorf("create the shared directory: %w", err)
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("shared directory: %w", err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !fi.IsDir() || !ok || int(st.Uid) != os.Geteuid() {
		return "", fmt.Errorf("%s belongs to somebody else", dir)
	}
	if err := os.Chmod(dir, mode); err != nil { // the umask may have closed it
		return "", fmt.Errorf("shared directory: %w", err)
	}
	return dir, nil
}

// open reports whether other users may pass through dir and every directory above it.
func open(dir string) bool {
	for {
		fi, err := os.Stat(dir)
		if err != nil || fi.Mode().Perm()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}
