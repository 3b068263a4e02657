package locomo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/examples/internal/locomo"
)

// parse reads a file with one conversation of the given turns, ids and texts, and evidence.
func parse(t *testing.T, text string) locomo.Conversation {
	t.Helper()
	conversations, err := locomo.Parse([]byte(text))
	require.NoError(t, err)
	require.Len(t, conversations, 1)
	return conversations[0]
}

const trip = `[{"sample_id": "trip-1", "qa": [{"question": "Is it dry?", "answer": 4, "category": 4, "evidence": ["D2:2"]}],
  "conversation": {
    "speaker_a": "Ada",
    "session_10": [{"speaker": "Bo", "dia_id": "D10:1", "text": "Back home & dry."}, {"speaker": "Ada", "dia_id": "extra", "text": "Yes."}],
    "session_10_date_time": "12:05 am on 1 January, 2024",
    "session_2": [
      {"speaker": "Ada", "dia_id": "D2:1", "text": "Is the tent dry?", "img_url": ["x"]},
      {"speaker": "Bo", "dia_id": "D2:02", "text": "It is."}, {"speaker": "Cy", "text": "Good."}],
    "session_2_date_time": "1:56 pm on 8 May, 2023",
    "session_11_date_time": "9:00 am on 2 January, 2024"}}]`

func TestParse(t *testing.T) {
	t.Parallel()
	c := parse(t, trip)
	require.Equal(t, "trip-1", c.ID)
	require.Equal(t, []locomo.Question{{Text: "Is it dry?", Category: 4, Evidence: []string{"D2:2"}}}, c.Questions)
	require.Equal(t, []locomo.Turn{
		{ID: "D2:1", Session: 2, Speaker: "Ada", Text: "Is the tent dry?", At: time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC)},
		{ID: "D2:02", Session: 2, Speaker: "Bo", Text: "It is.", At: time.Date(2023, 5, 8, 13, 56, 1, 0, time.UTC)},
		{Session: 2, Speaker: "Cy", Text: "Good.", At: time.Date(2023, 5, 8, 13, 56, 2, 0, time.UTC)},
		{ID: "D10:1", Session: 10, Speaker: "Bo", Text: "Back home & dry.", At: time.Date(2024, 1, 1, 0, 5, 0, 0, time.UTC)},
		{ID: "extra", Session: 10, Speaker: "Ada", Text: "Yes.", At: time.Date(2024, 1, 1, 0, 5, 1, 0, time.UTC)},
	}, c.Turns)
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	c := parse(t, trip)
	for name, tt := range map[string]struct {
		evidence []string
		turns    []int
		unknown  []string
	}{
		"none":               {nil, nil, nil},
		"blank":              {[]string{" ", ""}, nil, nil},
		"as it should be":    {[]string{"D2:1", "D10:1"}, []int{0, 3}, nil},
		"in another order":   {[]string{"D10:1", "D2:1"}, []int{0, 3}, nil},
		"twice":              {[]string{"D2:1", "D2:1"}, []int{0}, nil},
		"several in one":     {[]string{"D2:1; D10:1", "D2:2"}, []int{0, 1, 3}, nil},
		"with spaces":        {[]string{"D10:1 D2:1"}, []int{0, 3}, nil},
		"a colon too many":   {[]string{"D:10:1"}, []int{3}, nil},
		"zeros in front":     {[]string{"D02:001"}, []int{0}, nil},
		"zeros in the turn":  {[]string{"D2:2"}, []int{1}, nil},
		"in lower case":      {[]string{"d2:1,d2:2"}, []int{0, 1}, nil},
		"another form":       {[]string{" extra "}, []int{4}, nil},
		"no number":          {[]string{"D"}, nil, []string{"D"}},
		"no such turn":       {[]string{"D2:19", "D2:1"}, []int{0}, []string{"D2:19"}},
		"not a part of one":  {[]string{"D2:11", "XD2:1"}, nil, []string{"D2:11", "XD2:1"}},
		"a turn without one": {[]string{"D2:3"}, nil, []string{"D2:3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turns, unknown := c.Evidence(&locomo.Question{Evidence: tt.evidence})
			require.Equal(t, tt.turns, turns)
			require.Equal(t, tt.unknown, unknown)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const begun = `"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": `
	for name, tt := range map[string]struct{ text, want string }{
		"an id twice":       {`[{"sample_id": "a", "conversation": {` + begun + `[{"dia_id": "D1:1", "text": "x"}, {"dia_id": "D1:01", "text": "y"}]}}]`, `conversation 1 (a): session_1: an earlier turn has the dia_id "D1:01" as well`},
		"a sample twice":    {`[{"sample_id": "a"}, {"sample_id": "a"}]`, "conversation 2 (a): an earlier one has the same sample_id"},
		"a blank question":  {`[{"sample_id": "a", "qa": [{"question": " "}]}]`, "conversation 1 (a): question 1 has no text"},
		"evidence no list":  {`[{"sample_id": "a", "qa": [{"question": "x", "evidence": "D1:1"}]}]`, "not a list of LoCoMo conversations: "},
		"nothing was said":  {`[{"sample_id": "a", "conversation": {` + begun + `[]}}]`, "no turns"},
		"an empty document": {``, "not a list of LoCoMo conversations: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := locomo.Parse([]byte(tt.text))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestCategory(t *testing.T) {
	t.Parallel()
	var names []string
	for number := range 7 {
		names = append(names, locomo.Category(number))
	}
	require.Equal(t, "category 0, multi-hop, temporal, open-domain, single-hop, adversarial, category 6", strings.Join(names, ", "))
}
