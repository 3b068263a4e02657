package main

import (
	"errors"
	"fmt"

	"github.com/memkernel/memkernel/examples/internal/locomo"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
)

// input is what is written and asked.
type input struct {
	name          string
	conversations []locomo.Conversation
	turns         int
	asked         int // questions of the file
	questions     []question
	left          leftOut
}

// question is one that is used.
type question struct {
	conversation int
	text         string
	category     int
	evidence     []int // turns of the conversation, at least one
}

// leftOut is what of the input is not used.
type leftOut struct {
	// NoEvidence counts the questions that name no turn at all.
	NoEvidence int `json:"noEvidence"`
	// UnknownOnly counts the questions all of whose evidence names turns that are not there.
	UnknownOnly int `json:"unknownOnly"`
	// Unknown has the evidence that names no turn, of those and of questions that are used for the
	// rest of theirs.
	Unknown []string `json:"unknown"`
}

// newInput parses a file and makes sure that the kernel takes all of it.
func newInput(name string, text []byte) (*input, error) {
	conversations, err := locomo.Parse(text)
	if err != nil {
		return nil, err
	}
	in := &input{name: name, conversations: conversations, left: leftOut{Unknown: []string{}}}
	limits := kernel.Limits{}.WithDefaults()
	for n := range conversations {
		c := &conversations[n]
		in.turns += len(c.Turns)
		for i := range c.Turns {
			if err := mem.CheckText("text", textOf(&c.Turns[i]), limits.MaxTextBytes); err != nil {
				return nil, fmt.Errorf("%s: turn %d: %w", c.ID, i+1, err)
			}
		}
		for i := range c.Questions {
			if err := mem.CheckText("question", c.Questions[i].Text, limits.MaxQueryBytes); err != nil {
				return nil, fmt.Errorf("%s: question %d: %w", c.ID, i+1, err)
			}
			in.take(n, &c.Questions[i])
		}
	}
	if len(in.questions) == 0 {
		return nil, errors.New("no question has evidence that names a turn")
	}
	return in, nil
}

// take uses a question if it can be.
func (in *input) take(conversation int, q *locomo.Question) {
	turns, unknown := in.conversations[conversation].Evidence(q)
	in.asked++
	in.left.Unknown = append(in.left.Unknown, unknown...)
	switch {
	case len(turns) > 0:
		in.questions = append(in.questions, question{conversation, q.Text, q.Category, turns})
	case len(unknown) > 0:
		in.left.UnknownOnly++
	default:
		in.left.NoEvidence++
	}
}

// textOf is what is remembered of a turn: questions ask for people by name.
func textOf(t *locomo.Turn) string { return t.Speaker + ": " + t.Text }
