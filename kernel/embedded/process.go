//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a running postmaster.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the postmaster has been reaped
	err  error         // how it ended; valid once done is closed
}

// startProcess starts cmd and ties its life to this process.
//
// Linux sends the parent-death signal when the *thread* that forked ends, and Go ends
// threads as it likes. So one goroutine, locked to its thread, starts the child and stays
// until the child is gone. It also keeps owner open: if the host drops its *Server without
// closing it, the directory must stay locked for as long as the server runs.
func startProcess(cmd *exec.Cmd, owner *os.File) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		p.err = cmd.Wait()
		close(p.done)
		runtime.KeepAlive(owner)
	}()
	if err := <-started; err != nil {
		return nil, &StartError{Program: "postgres", Err: err}
	}
	return p, nil
}

// stop ends the postmaster: a fast shutdown, an immediate one when ctx is done, and SIGKILL
// if it does not obey. It returns nil only after a clean shutdown.
func (p *process) stop(ctx context.Context) error {
	p.signal(syscall.SIGINT)
	select {
	case <-p.done:
		return p.exit()
	case <-ctx.Done():
	}
	p.signal(syscall.SIGQUIT)
	if !p.wait(5 * time.Second) {
		p.signal(syscall.SIGKILL)
		p.wait(5 * time.Second) // for ever would be too long if we may not signal it at all
	}
	return fmt.Errorf("embedded: the server did not shut down in time and was stopped by force: %w", context.Cause(ctx))
}

func (p *process) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

func (p *process) exit() error {
	if p.err != nil {
		return &StartError{Program: "postgres", Err: p.err}
	}
	return nil
}

// signal does nothing if the process has been reaped; os.Process makes sure that the number
// is not somebody else's by then.
func (p *process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// alive reports whether a process with this id exists.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
