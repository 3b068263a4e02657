package embedded

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnsupported is returned by Start on platforms where the server cannot be managed.
var ErrUnsupported = errors.New("embedded: a private PostgreSQL is not supported on this platform; " +
	"run one yourself, for example in a container, and give the kernel its connection string")

// InUseError reports that another owner holds a cluster directory.
type InUseError struct {
	// Dir is the cluster directory.
	Dir string
	// PID is the process that holds it, 0 if it could not be determined.
	PID int
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("embedded: %s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("embedded: %s is in use by process %d", e.Dir, e.PID)
}

// MissingError reports that no usable binaries were found and none could be provisioned.
type MissingError struct {
	// Command is the one command that puts things right on this platform.
	Command string
	// Rejected says which installations were found and why each was passed over.
	Rejected []string
	// Err says why provisioning failed, nil if it was not tried.
	Err error
}

func (e *MissingError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "embedded: no PostgreSQL %d or newer with pgvector %d.%d or newer was found; run: %s",
		MinPostgres, minVectorMajor, minVectorMinor, e.Command)
	if len(e.Rejected) > 0 {
		fmt.Fprintf(&b, " (passed over: %s)", strings.Join(e.Rejected, "; "))
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns the reason provisioning failed.
func (e *MissingError) Unwrap() error { return e.Err }

// VersionError reports that a cluster was created by another major version of PostgreSQL
// than the binaries at hand.
type VersionError struct {
	// Dir is the cluster directory.
	Dir string
	// Cluster is the major version that created the cluster.
	Cluster int
	// Err says which binaries were found and why others could not be had.
	Err error
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("embedded: the cluster in %s was created by PostgreSQL %d, and no binaries of that version were found: %v",
		e.Dir, e.Cluster, e.Err)
}

// Unwrap returns the reason no matching binaries were found.
func (e *VersionError) Unwrap() error { return e.Err }

// StartError reports that a program of the server failed.
type StartError struct {
	// Program is the program that failed, for example "initdb" or "postgres".
	Program string
	// Output is the end of what it wrote.
	Output string
	// Err is how it ended.
	Err error
}

func (e *StartError) Error() string {
	if e.Output == "" {
		return fmt.Sprintf("embedded: %s: %v", e.Program, e.Err)
	}
	return fmt.Sprintf("embedded: %s: %v: %s", e.Program, e.Err, e.Output)
}

// Unwrap returns how the program ended.
func (e *StartError) Unwrap() error { return e.Err }
