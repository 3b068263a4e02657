package main

import (
	"flag"
	"fmt"
	"go/parser"
	"io"
	"strings"
)

// plan is what is to be tested and how.
type plan struct {
	pkg, expr, forPackage string
	skip, allow           reasons
}

// reasons are exceptions, each with its reason.
type reasons []struct{ what, why string }

// String implements flag.Value.
func (r *reasons) String() string { return "" }

// Set implements flag.Value.
func (r *reasons) Set(s string) error {
	what, why, _ := strings.Cut(s, "=")
	if strings.TrimSpace(what) == "" || strings.TrimSpace(why) == "" {
		return fmt.Errorf("%q has no reason: write NAME=REASON", s)
	}
	*r = append(*r, struct{ what, why string }{what, why})
	return nil
}

func parseFlags(args []string, stderr io.Writer) (*plan, error) {
	var p plan
	flags := flag.NewFlagSet("drivertest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = fmt.Fprintln(stderr, "usage: drivertest [flags] PACKAGE")
		flags.PrintDefaults()
	}
	flags.StringVar(&p.expr, "new", "", "the Go `EXPRESSION` that makes the driver (default: the package's New())")
	flags.StringVar(&p.forPackage, "imports-of", "", "judge the imports of this `PACKAGE` (default: the tested one)")
	flags.Var(&p.skip, "skip", "leave out a group, with the reason: `GROUP=REASON`; may be repeated")
	flags.Var(&p.allow, "allow-import", "allow an import, with the reason: `PATH=REASON`; may be repeated")
	if err := flags.Parse(args); err != nil {
		return nil, err //nolint:wrapcheck // it has been reported
	}
	err := p.check(flags.Args())
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "drivertest: %v\n", err)
		flags.Usage()
	}
	return &p, err
}

func (p *plan) check(args []string) error {
	if len(args) != 1 || args[0] == "" || strings.HasPrefix(args[0], "-") {
		return fmt.Errorf("%d packages are named, want one", len(args))
	}
	p.pkg = args[0]
	if p.expr == "" {
		return nil
	}
	if _, err := parser.ParseExpr(p.expr); err != nil {
		return fmt.Errorf("-new is no Go expression: %w", err)
	}
	return nil
}
