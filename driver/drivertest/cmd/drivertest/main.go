// Command drivertest runs the conformance kit of package drivertest on the driver of a package,
// without a test having to be written:
//
//	go run github.com/memkernel/memkernel/driver/drivertest/cmd/drivertest ./mydriver
//	go run .../cmd/drivertest -new 'mydriver.Open("fast")' -skip 'determinism=asks a live service' ./mydriver
//
// Run it in the driver's module, which must require memkernel. It writes a test of the package to a
// temporary directory, lays it over the package with the go command's -overlay and runs go test:
// nothing is written beside the driver, internal packages can be tested, and the driver is compiled
// with the module's own versions and settings. The package's own tests are left out of it. If go test
// misses entries in go.sum, add them with
//
//	go get github.com/memkernel/memkernel/driver/drivertest
//
// The driver is made by New(), which returns a driver, or a driver and an error. -new names another
// Go expression of such a type; it may use the package by its name, and nothing else.
//
// The kit needs a Postgres; as in all of memkernel's tests one is found or built, and
// MEMKERNEL_TEST_DATABASE_URL names another.
//
// Exit codes: 0 if the driver passed, 1 if it did not or could not be tested, 2 for a command that
// makes no sense. A group that was skipped does not make the driver fail, and is listed with its reason.
package main

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
	exitPassed = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the root of all contexts
	context.AfterFunc(ctx, stop)
	os.Exit(command(ctx, ".", os.Args[1:], os.Stdout, os.Stderr))
}

// command runs the program in a directory and returns its exit code.
func command(ctx context.Context, dir string, args []string, stdout, stderr io.Writer) int {
	plan, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitPassed
	case err != nil:
		return exitUsage
	}
	if err := run(ctx, dir, plan, stdout, stderr); err != nil {
		_, _ = fmt.Fprintf(stderr, "drivertest: %v\n", err)
		return exitFailed
	}
	return exitPassed
}
