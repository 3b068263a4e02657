package console

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInterrupted = 130
)

// Main runs a program, whose context ends with the first Ctrl-C, and exits with the code that
// it returns. A second Ctrl-C does not wait for it.
func Main(command func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// UsageCode is the exit code for flags that cannot be used, which the flag package has reported,
// or that ask for help.
func UsageCode(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return ExitOK
	}
	return ExitUsage
}

// Code reports how a program's work ended, if not well, and returns the exit code for it.
func Code(ctx context.Context, program string, err error, stderr io.Writer) int {
	switch {
	case err == nil:
		return ExitOK
	case ctx.Err() != nil:
		_, _ = fmt.Fprintf(stderr, "%s: interrupted: %v\n", program, err)
		return ExitInterrupted
	default:
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", program, err)
		return ExitFailed
	}
}
