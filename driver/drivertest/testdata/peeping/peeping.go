// Package peeping imports whatever a driver must not.
package peeping

import (
	_ "mime/multipart" // which reaches the network
	"os"
	_ "os/exec"
	"reflect"
	_ "unsafe" // for go:linkname

	_ "github.com/jackc/pgx/v5"

	_ "github.com/memkernel/memkernel/kernel"
)

//go:linkname now time.now
func now() (sec int64, nsec int32, mono int64)

var _ = reflect.TypeOf(os.Args)
