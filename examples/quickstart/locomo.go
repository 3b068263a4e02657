package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/memkernel/memkernel/examples/internal/locomo"
	"github.com/memkernel/memkernel/examples/internal/transcript"
)

// convertLoCoMo writes the conversations in a file of the LoCoMo data set as input for -in:
// each in a namespace of its own. Nothing is written if the file is not as expected.
func convertLoCoMo(path string, out io.Writer) error {
	text, err := os.ReadFile(path) //nolint:gosec // the user's own file
	if err != nil {
		return fmt.Errorf("read the data set: %w", err)
	}
	conversations, err := locomo.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	w := bufio.NewWriter(out)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for _, c := range conversations {
		for _, t := range c.Turns {
			line := transcript.Turn{Speaker: t.Speaker, Time: t.At.Format(time.RFC3339), Text: t.Text, Namespace: c.ID}
			if err := lines.Encode(line); err != nil {
				return fmt.Errorf("write: %w", err)
			}
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
