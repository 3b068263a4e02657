package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memkernel/memkernel/kernel"
)

//go:embed sample.json
var sample []byte

// leastResults is how many results are looked at for recall@20.
const leastResults = 20

// options are the flags.
type options struct {
	in, plot string
	drivers  []string
	results  int
	json     bool
}

func parseFlags(args []string, stderr io.Writer) (*options, error) {
	o := &options{drivers: rankings()}
	flags := flag.NewFlagSet("recall", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.in, "in", "", "read the conversations and questions from `FILE`, in the form of the LoCoMo data set (default: a small sample)")
	flags.Func("drivers", "compare these drivers, `NAMES` with commas between them, the first of them with each other one (default "+strings.Join(o.drivers, ",")+")", func(names string) error {
		o.drivers = strings.Split(names, ",")
		for i, name := range o.drivers {
			switch {
			case !slices.Contains(rankings(), name):
				return fmt.Errorf("there is no driver %q: want %s", name, strings.Join(rankings(), ", "))
			case slices.Contains(o.drivers[:i], name):
				return fmt.Errorf("driver %q is there twice", name)
			}
		}
		return nil
	})
	flags.IntVar(&o.results, "k", kernel.Limits{}.WithDefaults().MaxResults, "have each search return `N` results: MRR and the sessions look at all of them")
	flags.BoolVar(&o.json, "json", false, "write the report as JSON")
	flags.StringVar(&o.plot, "plot", "", "draw recall@10 by category into `FILE`, an SVG, which is written over")
	if err := flags.Parse(args); err != nil {
		return nil, fmt.Errorf("flags: %w", err) // Parse has printed it
	}
	err := o.check(flags.Args())
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		flags.Usage()
	}
	return o, err
}

func (o *options) check(args []string) error {
	most := kernel.Limits{}.WithDefaults().MaxResults
	switch {
	case len(args) > 0:
		return fmt.Errorf("unexpected argument %q", args[0])
	case o.results < leastResults || o.results > most:
		return fmt.Errorf("-k is %d, want %d to %d", o.results, leastResults, most)
	}
	return nil
}

// input reads what the flags name, or else what ships with the program. It also makes sure that
// there is a place for the plot: a run takes long.
func (o *options) input() (*input, error) {
	if o.plot != "" {
		if info, err := os.Stat(filepath.Dir(o.plot)); err != nil {
			return nil, fmt.Errorf("the plot: %w", err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("the plot: %s is not a directory", filepath.Dir(o.plot))
		}
		if info, err := os.Stat(o.plot); err == nil && info.IsDir() {
			return nil, errors.New("the plot: " + o.plot + " is a directory")
		}
	}
	name, text := "the sample", sample
	if o.in != "" {
		var err error
		if text, err = os.ReadFile(o.in); err != nil {
			return nil, fmt.Errorf("the input: %w", err)
		}
		name = strings.ToValidUTF8(filepath.Base(o.in), "?")
	}
	in, err := newInput(name, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return in, nil
}
