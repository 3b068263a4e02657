//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Start starts a private server and returns once it accepts connections. It creates the
// cluster if there is none, recovers one whose server or owner was killed, and waits for a
// server that is still shutting down after its owner died.
//
// It fails with an [InUseError] if another owner, in this process or another, holds the
// directory; with a [MissingError] if there are no binaries; with a [VersionError] if there
// are none of the cluster's version; with a [StartError] if initdb or the server fails; and
// with ctx's error if ctx is done first. After a failure nothing keeps running and the
// directory is free again. ctx governs only the start: ending it later does not stop the
// server, [Server.Close] does. Calls for different directories are independent.
//
// A warm start takes a fraction of a second, the first of a cluster a second or two more,
// and provisioning some seconds and about 40 MB of packages.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	a, err := pickAccount(cfg.User, cfg.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{closed: make(chan struct{})}
	if cfg.Ephemeral && cfg.Dir == "" {
		cfg.Dir, s.owner, err = newTempCluster(ctx, a)
	} else {
		s.owner, err = takeDir(ctx, cfg, a)
	}
	if err != nil {
		return nil, err
	}
	// Data is compared with what /proc shows, and a symbolic link must not give one cluster
	// two names.
	if resolved, err := filepath.EvalSymlinks(cfg.Dir); err == nil {
		cfg.Dir = resolved
	}
	s.dir = cfg.Dir
	if cfg.Ephemeral {
		s.tempDirs = append(s.tempDirs, cfg.Dir)
	}
	if err := s.start(ctx, cfg, a); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// takeDir opens the cluster directory and locks it.
func takeDir(ctx context.Context, cfg Config, a account) (*os.File, error) {
	if err := openDir(cfg.Dir, a, cfg.Ephemeral); err != nil {
		return nil, err
	}
	if !a.canEnter(ctx, cfg.Dir) {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("embedded: start: %w", context.Cause(ctx))
		}
		return nil, fmt.Errorf("embedded: uid %d, which the server runs as, cannot enter %s: a directory above it is closed to other users",
			a.uid, cfg.Dir)
	}
	owner, err := lockOwner(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if cfg.Ephemeral {
		if err := writeFile(filepath.Join(cfg.Dir, marker), ""); err != nil {
			unlock(owner)
			return nil, err
		}
	}
	return owner, nil
}

// lockOwner makes this process the owner of the directory.
func lockOwner(dir string) (*os.File, error) {
	path := filepath.Join(dir, ownerLock)
	owner, err := tryLock(path)
	if errors.Is(err, errLocked) {
		return nil, &InUseError{Dir: dir, PID: readPID(path)}
	}
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	if err := writePID(owner, os.Getpid()); err != nil {
		unlock(owner)
		return nil, fmt.Errorf("embedded: %w", err)
	}
	return owner, nil
}

// start does what is left once the directory is ours. If it fails, no server runs.
func (s *Server) start(ctx context.Context, cfg Config, a account) error {
	serverFile, err := awaitOldServer(ctx, s.dir)
	if err != nil {
		return err
	}
	// The server keeps its own copy of the descriptor, and with it the lock.
	defer func() { _ = serverFile.Close() }()
	if cfg.Ephemeral { // what a killed process left was written without fsync
		if err := os.RemoveAll(filepath.Join(s.dir, dataDir)); err != nil {
			return fmt.Errorf("embedded: remove an old ephemeral cluster: %w", err)
		}
	}
	if err := clearStalePID(s.dir); err != nil {
		return err
	}
	version, err := clusterVersion(s.dir)
	if err != nil {
		return err
	}
	b, err := findBinaries(ctx, cfg, version, a)
	if err != nil {
		return err
	}
	if err := writePasswd(a, s.dir); err != nil {
		return err
	}
	if version == 0 {
		if err := createCluster(ctx, s.dir, a, b, cfg.Ephemeral); err != nil {
			return err
		}
	}
	if err := s.makeSocketDir(ctx, a); err != nil {
		return err
	}
	if err := s.writeConfig(cfg); err != nil {
		return err
	}
	return s.launch(ctx, a, b, serverFile)
}

// writeConfig writes the server's configuration files.
func (s *Server) writeConfig(cfg Config) error {
	conf, hba, ident := filepath.Join(s.dir, configFile), filepath.Join(s.dir, hbaFile), filepath.Join(s.dir, identFile)
	for path, text := range map[string]string{
		conf:  configuration(cfg, filepath.Join(s.dir, dataDir), hba, ident, s.socketDir),
		hba:   hostBased,
		ident: "",
	} {
		if err := writeFile(path, text); err != nil {
			return err
		}
	}
	return nil
}

// launch starts the postmaster and waits until it accepts connections.
func (s *Server) launch(ctx context.Context, a account, b binaries, serverFile *os.File) error {
	log, from, err := openLog(s.dir)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(filepath.Join(b.dir, "postgres"), //nolint:gosec,noctx // lives until Close, not until ctx ends
		"-D", filepath.Join(s.dir, dataDir), "-c", "config_file="+filepath.Join(s.dir, configFile))
	cmd.Env = serverEnv(a, b, s.dir)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{serverFile}
	// A session of its own, or Ctrl-C in a terminal would stop the server before its host
	// has finished.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: a.credential()}
	dieWithParent(cmd.SysProcAttr, syscall.SIGINT)
	if s.proc, err = startProcess(cmd, s.owner); err != nil {
		return err
	}
	err = writePID(serverFile, s.PID())
	if err == nil {
		err = s.awaitReady(ctx)
	}
	if err == nil {
		return nil
	}
	select {
	case <-s.proc.done:
		output := logTail(filepath.Join(s.dir, logFile), from)
		return &StartError{Program: "postgres", Output: output, Err: s.proc.err}
	default:
	}
	// Not ctx, which is done by now.
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = s.proc.stop(stopCtx)
	return err
}

// makeSocketDir creates an empty directory for the socket: in the cluster's directory if its
// path is fit, else in a temporary one, whose path is kept so that a later start can remove
// it if this process is killed.
func (s *Server) makeSocketDir(ctx context.Context, a account) error {
	record := filepath.Join(s.dir, socketRecord)
	if text, err := os.ReadFile(record); err == nil { //nolint:gosec // written below
		removeSocketDir(string(text))
		_ = os.Remove(record)
	}
	s.socketDir = filepath.Join(s.dir, socketName)
	if err := os.RemoveAll(s.socketDir); err != nil {
		return fmt.Errorf("embedded: remove a stale socket: %w", err)
	}
	if fitsSocket(s.socketDir) {
		if err := os.Mkdir(s.socketDir, 0o700); err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
	} else {
		dir, err := tempSocketDir(func(base string) bool { return a.canEnter(ctx, base) })
		if err != nil {
			return err
		}
		s.socketDir = dir
		s.tempDirs = append(s.tempDirs, dir)
		if err := os.WriteFile(record, []byte(dir), 0o600); err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
	}
	return a.own(s.socketDir)
}

const socketRecord = "socket-dir"
