// Command ingest fills a memory from what there is: a chat transcript and a folder of
// Markdown. It says what was stored, what was not and why.
//
//	go run ./examples/ingest                              the small input that ships with it
//	go run ./examples/ingest -chat chat.txt -docs notes   your own, either or both, of any size
//	go run ./examples/ingest -h
//
// A transcript is plain text, or lines of JSON as examples/quickstart reads them, if its first
// line begins with "{". In plain text a message begins with a line such as
//
//	[2026-03-01 10:00] Ana: The café opens on Saturdays.
//
// and lines of another form go on with it. The time may have seconds and a zone, and is in UTC
// without. A message can correct an earlier one, which is named by its time:
//
//	[2026-03-09 18:40 corrects 2026-03-01 10:00] Ana: It opens on Fridays now.
//
// Markdown is cut at its headings, and between paragraphs where a section is long. Hidden files,
// symbolic links, files over 4 MiB and what is no text in UTF-8 are left out. A line or a file
// that cannot be read is named and stops nothing.
//
// Without a language model every text is kept as it is. With -llm-model the model extracts facts
// from it, and the kernel keeps those that are in the text; any server will do that speaks
// OpenAI's protocol:
//
//	go run ./examples/ingest -llm-model gpt-4o-mini
//	go run ./examples/ingest -llm-model qwen3:8b -llm-url http://localhost:11434/v1
//
// Secrets are kept out: a text with one is rejected, or redacted with -secrets redact. Reading
// the same input twice changes nothing; the program does so at its end to show it, unless told
// -once. With -keys FILE it keeps its keys, and so a later run goes on in the same memory, after
// an interruption or a change to the files for example; without, each run has a tenant of its
// own. What is gone from the files stays in the memory.
//
// The database is the one that DATABASE_URL names, or else a private PostgreSQL that lives as
// long as the run; its data stays.
package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/memkernel/memkernel/examples/internal/console"
	"github.com/memkernel/memkernel/examples/internal/host"
	"github.com/memkernel/memkernel/kernel"
)

func main() { console.Main(command) }

// command runs the program and returns its exit code.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, err := parseFlags(args, stderr)
	if err != nil {
		return console.UsageCode(err)
	}
	return console.Code(ctx, "ingest", ingest(ctx, opts, stdout, stderr), stderr)
}

// ingest opens the input, and only if it is there the kernel.
func ingest(ctx context.Context, opts *options, stdout, stderr io.Writer) (err error) {
	in, err := opts.input()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	llm, where, err := opts.llm.open(os.Getenv)
	if err != nil {
		return err
	}
	var with []kernel.Option
	if llm != nil {
		with = append(with, kernel.WithLLM(llm, where))
	}
	return host.Use(ctx, func(k *kernel.Kernel) error { return run(ctx, k, opts, in, stdout, stderr) }, with...)
}
