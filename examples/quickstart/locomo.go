package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/examples/internal/transcript"
)

// sessionTime is how LoCoMo writes the time of a session: "1:56 pm on 8 May, 2023".
const sessionTime = "3:04 pm on 2 January, 2006"

// sample is one conversation of LoCoMo. Its sessions are fields of their own: session_1 holds
// the turns and session_1_date_time the time of the first session, and so on.
type sample struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
}

// convertLoCoMo writes the conversations in a file of the LoCoMo data set as input for -in:
// each in a namespace of its own, the turns of a session a second apart, which keeps their
// order. Nothing is written if the file is not as expected.
func convertLoCoMo(path string, out io.Writer) error {
	text, err := os.ReadFile(path) //nolint:gosec // the user's own file
	if err != nil {
		return fmt.Errorf("read the data set: %w", err)
	}
	var samples []sample
	if err := json.Unmarshal(text, &samples); err != nil {
		return fmt.Errorf("%s: not a list of LoCoMo conversations: %w", path, err)
	}
	var turns []transcript.Turn
	for i, s := range samples {
		more, err := s.turns()
		if err != nil {
			return fmt.Errorf("%s: conversation %d (%s): %w", path, i+1, s.ID, err)
		}
		turns = append(turns, more...)
	}
	if len(turns) == 0 {
		return fmt.Errorf("%s: no turns", path)
	}
	w := bufio.NewWriter(out)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for _, t := range turns {
		if err := lines.Encode(t); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

func (s *sample) turns() ([]transcript.Turn, error) {
	if ns, err := acl.ParseNamespace(s.ID); err != nil || ns.Tenant() != s.ID {
		return nil, fmt.Errorf("sample_id %q does not do as a namespace", s.ID)
	}
	var out []transcript.Turn
	for _, n := range s.sessions() {
		turns, err := s.session(n)
		if err != nil {
			return nil, fmt.Errorf("session_%d: %w", n, err)
		}
		out = append(out, turns...)
	}
	return out, nil
}

// sessions lists the numbers of the sessions that have turns, in order.
func (s *sample) sessions() []int {
	var numbers []int
	for field := range s.Conversation {
		digits, ok := strings.CutPrefix(field, "session_")
		if n, err := strconv.Atoi(digits); ok && err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.SortFunc(numbers, cmp.Compare)
	return numbers
}

func (s *sample) session(n int) ([]transcript.Turn, error) {
	field := fmt.Sprintf("session_%d", n)
	var when string
	if raw, ok := s.Conversation[field+"_date_time"]; !ok {
		return nil, errors.New("it has no date_time")
	} else if err := json.Unmarshal(raw, &when); err != nil {
		return nil, fmt.Errorf("date_time: %w", err)
	}
	begun, err := time.Parse(sessionTime, when)
	if err != nil {
		return nil, fmt.Errorf("date_time: %w", err)
	}
	var said []struct{ Speaker, Text string }
	if err := json.Unmarshal(s.Conversation[field], &said); err != nil {
		return nil, fmt.Errorf("not a list of turns: %w", err)
	}
	turns := make([]transcript.Turn, len(said))
	for i, t := range said {
		if strings.TrimSpace(t.Text) == "" {
			return nil, fmt.Errorf("turn %d has no text", i+1)
		}
		at := begun.Add(time.Duration(i) * time.Second)
		turns[i] = transcript.Turn{Speaker: t.Speaker, Time: at.Format(time.RFC3339), Text: t.Text, Namespace: s.ID}
	}
	return turns, nil
}
