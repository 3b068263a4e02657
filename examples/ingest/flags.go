package main

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/examples/internal/transcript"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
)

//go:embed all:sample
var sample embed.FS

// options are the flags.
type options struct {
	chat, docs, namespace, keys string
	secrets                     kernel.SecretRule
	ask                         []string
	once, json                  bool
	llm                         llmFlags
}

func parseFlags(args []string, stderr io.Writer) (*options, error) {
	o := &options{secrets: mem.SecretsBlock}
	flags := flag.NewFlagSet("ingest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.chat, "chat", "", "read a transcript from `FILE`: \"[2026-03-01 10:00] Ana: text\", or JSON lines {\"speaker\",\"time\",\"text\"}")
	flags.StringVar(&o.docs, "docs", "", "read the Markdown files in `DIR` and below")
	flags.StringVar(&o.namespace, "namespace", "inbox", "write to the namespace `PATH` of the tenant")
	flags.StringVar(&o.keys, "keys", "", "keep the keys in `FILE`, which is made, so that a later run goes on in the same tenant (default: a tenant for this run alone)")
	flags.Func("secrets", "what to do with a text that holds a secret, `RULE`: block it, redact the secret, or keep it (default block)", func(rule string) error {
		rules := map[string]kernel.SecretRule{"block": mem.SecretsBlock, "redact": mem.SecretsRedact, "keep": mem.SecretsAllow}
		var ok bool
		if o.secrets, ok = rules[rule]; !ok {
			return errors.New("want block, redact or keep")
		}
		return nil
	})
	flags.Func("ask", "search for the answer to `QUESTION`; may be given several times (default: questions that suit the input)", func(question string) error {
		o.ask = append(o.ask, question)
		return nil
	})
	o.llm.register(flags)
	flags.BoolVar(&o.once, "once", false, "do not read the input a second time")
	flags.BoolVar(&o.json, "json", false, "write the summary as JSON")
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
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	if _, err := acl.ParseNamespace("tenant/" + o.namespace); err != nil {
		return fmt.Errorf("-namespace is %q: %w", o.namespace, err)
	}
	for _, q := range o.ask {
		if err := mem.CheckText("-ask", q, kernel.Limits{}.WithDefaults().MaxQueryBytes); err != nil {
			return err
		}
	}
	return o.llm.check()
}

// input opens what the flags name, or else what ships with the program.
func (o *options) input() (in *input, err error) {
	if o.chat == "" && o.docs == "" {
		o.ask = append(o.ask, "When does the repair café open?", "Which temperature does lead-free solder need?", "What does the 3D printer need?")
		return shipped()
	}
	in = &input{}
	if o.chat != "" {
		file, err := transcript.FromPath(o.chat)
		if err != nil {
			return nil, err
		}
		in.chat = &chat{file}
	}
	if o.docs != "" {
		if in.docs, err = openDocs(o.docs); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// shipped is the input that comes with the program.
func shipped() (*input, error) {
	files, err := fs.Sub(sample, "sample/docs")
	if err != nil {
		return nil, fmt.Errorf("the sample: %w", err)
	}
	return &input{
		chat: &chat{transcript.File{Name: "chat.txt", Open: func() (io.ReadCloser, error) { return sample.Open("sample/chat.txt") }}},
		docs: &docs{name: "docs", files: files},
	}, nil
}
