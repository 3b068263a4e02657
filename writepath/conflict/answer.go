package conflict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxAnswerBytes bounds what is parsed: far more than MaxCandidates verdicts need.
const maxAnswerBytes = 64 << 10

var (
	errAnswer        = errors.New("not an answer")
	errUnknownNumber = errors.New("a number that was not asked about")
)

// answered is one verdict of the model. Pointers tell what is missing from what is zero.
type answered struct {
	I          *int     `json:"i"`
	Relation   Relation `json:"relation"`
	Confidence *int     `json:"confidence"`
}

// parseAnswer reads the model's answer to the given numbers: an object with "verdicts", or the
// bare list, which is what models without a strict mode give. One wrong verdict spoils the
// answer: a number that was not asked, one given twice, a relation off the list, a confidence
// that is no whole number from 0 to 100. Numbers that are left out are not an error here.
func parseAnswer(answer []byte, asked []int) (map[int]Verdict, error) {
	if len(answer) > maxAnswerBytes {
		return nil, fmt.Errorf("%w: %d bytes", errAnswer, len(answer))
	}
	var list []answered
	if body := bytes.TrimSpace(answer); len(body) > 0 && body[0] == '[' {
		if err := decodeOne(body, &list); err != nil {
			return nil, err
		}
	} else {
		var doc struct {
			Verdicts []answered `json:"verdicts"`
		}
		if err := decodeOne(body, &doc); err != nil {
			return nil, err
		}
		list = doc.Verdicts
	}
	out := make(map[int]Verdict, len(list))
	for _, a := range list {
		switch {
		case a.I == nil || a.Confidence == nil || a.Relation == Undecided || !a.Relation.Valid():
			return nil, fmt.Errorf("%w: a verdict is incomplete or off the list", errAnswer)
		case !slices.Contains(asked, *a.I):
			return nil, errUnknownNumber
		case *a.Confidence < 0 || *a.Confidence > 100:
			return nil, fmt.Errorf("%w: confidence %d", errAnswer, *a.Confidence)
		}
		if _, twice := out[*a.I]; twice {
			return nil, fmt.Errorf("%w: %d is there twice", errAnswer, *a.I)
		}
		out[*a.I] = Verdict{Relation: a.Relation, Confidence: *a.Confidence, Basis: BasisModel}
	}
	return out, nil
}

// decodeOne reads exactly one JSON document.
func decodeOne(body []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%w: not JSON of the schema", errAnswer)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more than one document", errAnswer)
	}
	return nil
}
