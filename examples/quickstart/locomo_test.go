package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/examples/internal/console"
)

// madeUp has the shape of the data set and nothing of its content.
const madeUp = `[
  {"sample_id": "trip-1", "qa": [], "conversation": {
    "speaker_a": "Ada", "speaker_b": "Bo",
    "session_10": [{"speaker": "Bo", "dia_id": "D10:1", "text": "Back home & dry."}],
    "session_10_date_time": "12:05 am on 1 January, 2024",
    "session_2": [
      {"speaker": "Ada", "dia_id": "D2:1", "text": "Is the tent dry?", "img_url": ["x"], "blip_caption": "a tent"},
      {"speaker": "Bo", "dia_id": "D2:2", "text": "It is."}],
    "session_2_date_time": "1:56 pm on 8 May, 2023",
    "session_11_date_time": "9:00 am on 2 January, 2024"}},
  {"sample_id": "trip-2", "conversation": {
    "session_1": [{"speaker": "Cy", "text": "Who has the map?"}],
    "session_1_date_time": "11:59 am on 30 June, 2023"}}
]`

func convert(t *testing.T, text string) (code int, stdout, stderr string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "locomo.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	var out, errs bytes.Buffer
	code = command(t.Context(), []string{"-convert-locomo", path}, &out, &errs)
	return code, out.String(), errs.String()
}

func TestConvertLoCoMo(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := convert(t, madeUp)
	require.Equal(t, console.ExitOK, code, stderr)
	require.Empty(t, stderr)
	require.Equal(t, `{"speaker":"Ada","time":"2023-05-08T13:56:00Z","text":"Is the tent dry?","namespace":"trip-1"}
{"speaker":"Bo","time":"2023-05-08T13:56:01Z","text":"It is.","namespace":"trip-1"}
{"speaker":"Bo","time":"2024-01-01T00:05:00Z","text":"Back home & dry.","namespace":"trip-1"}
{"speaker":"Cy","time":"2023-06-30T11:59:00Z","text":"Who has the map?","namespace":"trip-2"}
`, stdout)

	report := runJob(t, open(t), options{in: file(t, stdout)})
	requireLines(t, report, `   trip-1 +3 +3 +0 +0`, `   stored 4 \+ duplicate 0 = 4 turns .*`, `      hidden  trip-2: beside trip-1`)
}

func TestConvertLoCoMoRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"no JSON":    {`Ada: hello`, "not a list of LoCoMo conversations"},
		"no list":    {`{"conversation": {}}`, "not a list of LoCoMo conversations"},
		"nothing":    {`[]`, "no turns"},
		"no name":    {`[{"conversation": {}}]`, `conversation 1 (): sample_id "" does not do as a namespace`},
		"a path":     {`[{"sample_id": "a/b"}]`, `sample_id "a/b" does not do as a namespace`},
		"no time":    {`[{"sample_id": "a", "conversation": {"session_3": []}}]`, "conversation 1 (a): session_3: it has no date_time"},
		"odd time":   {`[{"sample_id": "a", "conversation": {"session_3": [], "session_3_date_time": "noon"}}]`, "session_3: date_time: parsing time"},
		"odd turns":  {`[{"sample_id": "a", "conversation": {"session_3": "x", "session_3_date_time": "1:56 pm on 8 May, 2023"}}]`, "session_3: not a list of turns"},
		"blank turn": {`[{"sample_id": "a", "conversation": {"session_3": [{"speaker": "Ada"}], "session_3_date_time": "1:56 pm on 8 May, 2023"}}]`, "session_3: turn 1 has no text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := convert(t, tt.text)
			require.Equal(t, console.ExitFailed, code)
			require.Empty(t, stdout, "nothing half done")
			require.Contains(t, stderr, tt.want)
		})
	}
}
