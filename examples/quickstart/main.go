// Command quickstart shows what the memory kernel does, on a conversation of its own or of
// yours.
//
//	go run ./examples/quickstart                                 the conversation that ships with it
//	go run ./examples/quickstart -in turns.jsonl -ask "..."      your own, of any size
//	go run ./examples/quickstart -convert-locomo locomo10.json > turns.jsonl
//
// It writes every turn as a memory, asks one question as four callers who see different
// things, shows a fact that was corrected, makes calls that are refused, and prints what the
// audit log holds about all of that. Each run has a tenant of its own, so runs on one
// database do not meet. The database is the one that DATABASE_URL names, or else a private
// PostgreSQL that lives as long as the run; its data stays.
//
// Input is one JSON object a line: {"speaker": "Dana", "time": "2026-03-02T09:15:00Z",
// "text": "..."}. Three more fields may be given: "namespace", a path such as
// "acme/eng/platform" (default "chat"); "id", a name for the line; and "supersedes", the id
// of an earlier line of the same namespace that this one corrects. Others are ignored.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/memkernel/memkernel/examples/internal/console"
	"github.com/memkernel/memkernel/examples/internal/host"
	"github.com/memkernel/memkernel/examples/internal/transcript"
	"github.com/memkernel/memkernel/kernel"
)

func main() { console.Main(command) }

// command runs the program and returns its exit code.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, err := parseFlags(args, stderr)
	if err != nil {
		return console.UsageCode(err)
	}
	if opts.locomo != "" {
		err = convertLoCoMo(opts.locomo, stdout)
	} else {
		err = quickstart(ctx, opts, stdout, stderr)
	}
	return console.Code(ctx, "quickstart", err, stderr)
}

type options struct {
	in, ask, as, locomo string
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.in, "in", "", "read the conversation from `FILE`, JSON lines {\"speaker\",\"time\",\"text\"}")
	flags.StringVar(&o.ask, "ask", "", "the `QUESTION` to ask (default: one that suits the conversation)")
	flags.StringVar(&o.as, "as", "", "ask it in this `NAMESPACE` of the conversation (default: the first one with a correction in it, or else the first)")
	flags.StringVar(&o.locomo, "convert-locomo", "", "write the conversations of the LoCoMo data set in `FILE` to standard output as input for -in, and do nothing else")
	if err := flags.Parse(args); err != nil {
		return options{}, fmt.Errorf("flags: %w", err) // Parse has printed it
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(stderr, "unexpected argument %q\n", flags.Arg(0))
		flags.Usage()
		return options{}, errors.New("unexpected argument")
	}
	return o, nil
}

// quickstart reads the input, and only if all of it is good opens the kernel.
func quickstart(ctx context.Context, opts options, stdout, stderr io.Writer) error {
	j, err := newJob(opts)
	if err != nil {
		return err
	}
	j.progress = stderr
	return host.Use(ctx, func(k *kernel.Kernel) error { return run(ctx, k, j, stdout) })
}

// job is what a run has to do.
type job struct {
	in       input
	survey   *survey
	tenant   string
	home     *namespaceSurvey // where the question is asked
	question string
	progress io.Writer
}

func newJob(opts options) (*job, error) {
	// A tenant's first key is shown once, so a second run could not use the first one's.
	j := &job{tenant: "demo-" + strings.ToLower(rand.Text()[:8]), question: opts.ask}
	var err error
	if opts.in == "" {
		j.in = shipped()
	} else if j.in.File, err = transcript.FromPath(opts.in); err != nil {
		return nil, err
	}
	if j.survey, err = takeSurvey(j.in, j.tenant); err != nil {
		return nil, err
	}
	if j.home, err = j.survey.home(opts.as); err != nil {
		return nil, err
	}
	switch {
	case j.question != "":
	case opts.in == "":
		j.question = "When do we deploy to production?"
	default:
		j.question = console.Clip(j.home.last, 200)
	}
	return j, nil
}

// run does the job and writes the report to out.
func run(ctx context.Context, k *kernel.Kernel, j *job, out io.Writer) error {
	first, err := k.Bootstrap(ctx, kernel.BootstrapRequest{Tenant: j.tenant, Actor: "user:ruth", Label: "quickstart"})
	if err != nil {
		return err
	}
	owner, err := k.Authenticate(ctx, first.Secret)
	if err != nil {
		return err
	}
	result, err := load(ctx, k, owner, j.in, j.survey, j.progress)
	if err != nil {
		return err
	}
	people, err := hire(ctx, k, owner, j.survey, j.home.full)
	if err != nil {
		return err
	}
	r := &report{kernel: k, job: j, loaded: result, people: people, Printer: console.Printer{Out: out}}
	return r.write(ctx)
}
