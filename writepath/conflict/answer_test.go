package conflict_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/writepath/conflict"
)

func TestParseAnswer(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		verdicts(zero + "," + one), "[" + zero + "]", " \n" + verdicts(zero) + "\n", verdicts(""), "[]", "{}",
		`{"verdicts":[` + zero + `],"note":"x"}`, `{"verdicts":null}`, "null",
	} {
		_, err := conflict.ParseAnswer([]byte(good), []int{0, 1})
		require.NoError(t, err, good)
	}
	for _, bad := range []string{
		"", "7", `"x"`, "{", verdicts(zero) + verdicts(one), "```json\n" + verdicts(zero) + "\n```",
		verdicts(zero + "," + zero), verdicts(`{"i":2,"relation":"same","confidence":1}`),
		verdicts(`{"i":-1,"relation":"same","confidence":1}`), verdicts(`{"i":0.5,"relation":"same","confidence":1}`),
		verdicts(`{"i":"0","relation":"same","confidence":1}`), verdicts(`{"i":1e99,"relation":"same","confidence":1}`),
		verdicts(`{"relation":"same","confidence":1}`), verdicts(`{"i":0,"confidence":1}`), verdicts(`{"i":0,"relation":"same"}`),
		verdicts(`{"i":0,"relation":"","confidence":1}`), verdicts(`{"i":0,"relation":"SAME","confidence":1}`),
		verdicts(`{"i":0,"relation":"delete","confidence":1}`), verdicts(`{"i":0,"relation":"same","confidence":101}`),
		verdicts(`{"i":0,"relation":"same","confidence":-1}`), verdicts(`{"i":0,"relation":"same","confidence":0.95}`),
		verdicts(`null`), `{"verdicts":{}}`, "[" + strings.Repeat(" ", 70_000) + zero + "]",
	} {
		got, err := conflict.ParseAnswer([]byte(bad), []int{0, 1})
		require.Error(t, err, bad)
		require.Nil(t, got)
	}
}

// Whatever a model answers, what is taken from it is about what it was asked, and on the lists.
func FuzzParseAnswer(f *testing.F) {
	for _, s := range []string{verdicts(zero + "," + one), "[" + one + "]", "{", "[[", `[{"i":1,"I":9,"relation":"same","confidence":5}]`, "null"} {
		f.Add([]byte(s), uint8(2))
	}
	f.Fuzz(func(t *testing.T, answer []byte, n uint8) {
		asked := make([]int, n%conflict.MaxCandidates)
		for i := range asked {
			asked[i] = i * 2
		}
		got, err := conflict.ParseAnswer(answer, asked)
		if err != nil {
			require.Nil(t, got)
		}
		for i, v := range got {
			require.True(t, slices.Contains(asked, i))
			require.True(t, v.Relation.Valid() && v.Relation != conflict.Undecided)
			require.True(t, v.Confidence >= 0 && v.Confidence <= 100)
			require.Equal(t, conflict.BasisModel, v.Basis)
		}
	})
}
