package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	goopenai "github.com/sashabaranov/go-openai"
)

// inOrder returns n vectors of dim finite components by their index. The body is what data
// was decoded from.
func inOrder(data []goopenai.Embedding, body []byte, n, dim int) ([][]float32, error) {
	if len(data) != n {
		return nil, fmt.Errorf("%w: %d vectors for %d texts", ErrMalformed, len(data), n)
	}
	if err := noNulls(body); err != nil {
		return nil, err
	}
	out := make([][]float32, n)
	for i := range data {
		d := &data[i]
		if d.Index < 0 || d.Index >= n || out[d.Index] != nil {
			return nil, fmt.Errorf("%w: index %d is out of range or comes twice", ErrMalformed, d.Index)
		}
		if len(d.Embedding) != dim {
			return nil, fmt.Errorf("%w: a vector has %d components, not %d", ErrMalformed, len(d.Embedding), dim)
		}
		for _, x := range d.Embedding {
			if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
				return nil, fmt.Errorf("%w: a component is not finite", ErrMalformed)
			}
		}
		out[d.Index] = d.Embedding
	}
	return out, nil
}

// noNulls fails if a vector has a null in it. That is how some servers write NaN, for which
// JSON has no word, and it would be decoded as 0.
func noNulls(body []byte) error {
	if !bytes.Contains(body, []byte("null")) {
		return nil
	}
	var doc struct {
		Data []struct {
			Embedding json.RawMessage `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return fmt.Errorf("%w: the JSON has another shape", ErrMalformed)
	}
	for _, d := range doc.Data {
		if bytes.Contains(d.Embedding, []byte("null")) {
			return fmt.Errorf("%w: a component is null", ErrMalformed)
		}
	}
	return nil
}
