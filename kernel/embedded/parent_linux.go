package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// dieWithParent asks Linux to send sig to the child when the thread that started it ends.
func dieWithParent(attr *syscall.SysProcAttr, sig syscall.Signal) {
	attr.Pdeathsig = sig
}

// serverProcesses returns the processes that work in a cluster's data directory, which is
// what the postmaster and its backends do and nobody else can (mode 0700).
func serverProcesses(data string) []int {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	var pids []int
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != data {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// smallSharedMemory reports that /dev/shm is too small for parallel index builds, as it is
// in a container with default settings (64 MB). They then fail with "could not resize shared
// memory segment".
func smallSharedMemory() bool {
	var st syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &st); err != nil {
		return true
	}
	return st.Blocks*uint64(st.Bsize) < 512<<20 //nolint:gosec // a block size is positive
}

// flush writes everything to disk, so that a tree renamed into place is complete even after
// a power failure.
func flush() { syscall.Sync() }

// commandLine returns a process's command line for a message, "" if it cannot be read.
func commandLine(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(text)
}
