//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package pgtest

import (
	"context"
	"errors"
	"os"
)

var errNoServer = errors.New("no server can be started on this platform; set " + EnvURL)

func join(context.Context) (string, *os.File, error) { return "", nil, errNoServer }
