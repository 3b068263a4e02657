// Command recall measures how well searches find what they should, on conversations with questions
// whose answers are known to be in certain turns.
//
//	go run ./examples/recall                        the small sample that ships with it
//	go run ./examples/recall -in locomo10.json      the LoCoMo data set, or your own in its form
//	go run ./examples/recall -h
//
// It writes every turn as a memory, "Speaker: text" with its time, each conversation in a namespace
// of its own. Then it asks every question as a search in its conversation, once by each of several
// drivers, and says how much of the evidence came back, by category of question, with 95 % intervals,
// and how long the searches took. The drivers are the kernel's fusion and baseline, which merge words
// and vectors, and two of the program's own, which use one of them alone. No model is asked but the
// kernel's embedder, and no answer is generated.
//
// The input is a list of conversations as in LoCoMo:
//
//	[{"sample_id": "trip-1",
//	  "conversation": {
//	    "session_1_date_time": "1:56 pm on 8 May, 2023",
//	    "session_1": [{"speaker": "Ada", "dia_id": "D1:1", "text": "Is the tent dry?"}]},
//	  "qa": [{"question": "What did Ada ask about?", "category": 4, "evidence": ["D1:1"]}]}]
//
// Each run has a tenant of its own, so runs on one database do not meet. The database is the one that
// DATABASE_URL names, or else a private PostgreSQL that lives as long as the run; its data stays.
package main

import (
	"context"
	"io"

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
	return console.Code(ctx, "recall", recall(ctx, opts, stdout, stderr), stderr)
}

// recall reads the input, and only if all of it is good opens the kernel.
func recall(ctx context.Context, opts *options, stdout, stderr io.Writer) error {
	in, err := opts.input()
	if err != nil {
		return err
	}
	return host.Use(ctx, func(k *kernel.Kernel) error { return run(ctx, k, opts, in, stdout, stderr) }, kernel.WithDrivers(own()...))
}
