//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package embedded

import (
	"os/exec"
	"strconv"
	"syscall"
)

// dieWithParent does nothing: these systems cannot tie a child to its parent. An orphaned
// server is stopped by the next Start of its directory.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

func serverProcesses(string) []int { return nil }

func smallSharedMemory() bool { return false }

func flush() {}

// commandLine returns a process's command line for a message, "" if it cannot be read.
func commandLine(pid int) string {
	out, err := exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(pid)).Output() //nolint:gosec,noctx // a number
	if err != nil {
		return ""
	}
	return string(out)
}
