//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package pgtest

import (
	"context"
	"os"
)

func join(context.Context) (string, *os.File, error) { return "", nil, errNoServer }
