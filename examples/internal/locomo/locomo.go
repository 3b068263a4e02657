// Package locomo reads the LoCoMo data set, and files of its shape: conversations of several
// sessions, and questions about them with the turns that hold the answer.
package locomo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memkernel/memkernel/acl"
)

// sessionTime is how LoCoMo writes the time of a session: "1:56 pm on 8 May, 2023".
const sessionTime = "3:04 pm on 2 January, 2006"

// Conversation is one sample of a file.
type Conversation struct {
	// ID is the sample's, and does as a namespace's last segment. No two of a file are the same.
	ID string
	// Turns are in the order in which they were said.
	Turns     []Turn
	Questions []Question

	byID map[string]int // the turns by their ids, as references name them
}

// Turn is something that somebody said.
type Turn struct {
	// ID is the turn's dia_id, "" if it has none.
	ID string
	// Session is the number of the session.
	Session       int
	Speaker, Text string
	// At is the session's time and a second more for every turn before, which keeps their order.
	At time.Time
}

// Question is a question about a conversation.
type Question struct {
	Text     string `json:"question"`
	Category int    `json:"category"`
	// Evidence names turns, as the file has it: see Conversation.Evidence.
	Evidence []string `json:"evidence"`
}

// sample is a conversation as the file has it. Its sessions are fields of their own: session_1
// holds the turns and session_1_date_time the time of the first session, and so on.
type sample struct {
	ID           string                     `json:"sample_id"`
	Questions    []Question                 `json:"qa"`
	Conversation map[string]json.RawMessage `json:"conversation"`
}

// Parse reads the text of a file. It is an error if it is not as expected, or holds no turns.
func Parse(text []byte) ([]Conversation, error) {
	var samples []sample
	if err := json.Unmarshal(text, &samples); err != nil {
		return nil, fmt.Errorf("not a list of LoCoMo conversations: %w", err)
	}
	out := make([]Conversation, len(samples))
	seen, turns := map[string]bool{}, 0
	for i, s := range samples {
		c, err := s.read()
		if err == nil && seen[s.ID] {
			err = errors.New("an earlier one has the same sample_id")
		}
		if err != nil {
			return nil, fmt.Errorf("conversation %d (%s): %w", i+1, s.ID, err)
		}
		out[i], seen[s.ID] = c, true
		turns += len(c.Turns)
	}
	if turns == 0 {
		return nil, errors.New("no turns")
	}
	return out, nil
}

func (s *sample) read() (Conversation, error) {
	if ns, err := acl.ParseNamespace(s.ID); err != nil || ns.Tenant() != s.ID {
		return Conversation{}, fmt.Errorf("sample_id %q does not do as a namespace", s.ID)
	}
	c := Conversation{ID: s.ID, Questions: s.Questions, byID: map[string]int{}}
	for _, n := range s.sessions() {
		turns, err := s.session(n)
		if err != nil {
			return Conversation{}, fmt.Errorf("session_%d: %w", n, err)
		}
		for _, t := range turns {
			if err := c.add(t); err != nil {
				return Conversation{}, fmt.Errorf("session_%d: %w", n, err)
			}
		}
	}
	for i, q := range c.Questions {
		if strings.TrimSpace(q.Text) == "" {
			return Conversation{}, fmt.Errorf("question %d has no text", i+1)
		}
	}
	return c, nil
}

func (c *Conversation) add(t Turn) error {
	if id := canonical(t.ID); id != "" {
		if _, taken := c.byID[id]; taken {
			return fmt.Errorf("an earlier turn has the dia_id %q as well", t.ID)
		}
		c.byID[id] = len(c.Turns)
	}
	c.Turns = append(c.Turns, t)
	return nil
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

func (s *sample) session(n int) ([]Turn, error) {
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
	var said []struct {
		ID            string `json:"dia_id"`
		Speaker, Text string
	}
	if err := json.Unmarshal(s.Conversation[field], &said); err != nil {
		return nil, fmt.Errorf("not a list of turns: %w", err)
	}
	turns := make([]Turn, len(said))
	for i, t := range said {
		if strings.TrimSpace(t.Text) == "" {
			return nil, fmt.Errorf("turn %d has no text", i+1)
		}
		turns[i] = Turn{ID: t.ID, Session: n, Speaker: t.Speaker, Text: t.Text, At: begun.Add(time.Duration(i) * time.Second)}
	}
	return turns, nil
}
