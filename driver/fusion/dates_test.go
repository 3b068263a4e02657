package fusion_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/fusion"
)

func TestWindow(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{ // first day and last day, without what is added
		"What happened on 8 May 2023?":               {"2023-05-08", "2023-05-08"},
		"on May 8, 2023":                             {"2023-05-08", "2023-05-08"},
		"on may 8th 2023, again":                     {"2023-05-08", "2023-05-08"},
		"on the 1st of June, 2023":                   {"2023-06-01", "2023-06-01"},
		"June the 3rd, 2023":                         {"2023-06-03", "2023-06-03"},
		"in Sept. 2023":                              {"2023-09-01", "2023-09-30"},
		"In February 2024":                           {"2024-02-01", "2024-02-29"},
		"february of 2023":                           {"2023-02-01", "2023-02-28"},
		"since 2023-05-08T10:00":                     {"2023-05-08", "2023-05-08"},
		"2023/5/8":                                   {"2023-05-08", "2023-05-08"},
		"the report of 2023-05":                      {"2023-05-01", "2023-05-31"},
		"am 8.5.2023":                                {"2023-05-08", "2023-05-08"},
		"am 8. Mai 2023":                             {"2023-05-08", "2023-05-08"},
		"im März 2023":                               {"2023-03-01", "2023-03-31"},
		"el 8 de mayo de 2023":                       {"2023-05-08", "2023-05-08"},
		"el 8 de mayo del 2023":                      {"2023-05-08", "2023-05-08"},
		"em março de 2023":                           {"2023-03-01", "2023-03-31"},
		"le 1er août 2023":                           {"2023-08-01", "2023-08-01"},
		"il 1º maggio 2023":                          {"2023-05-01", "2023-05-01"},
		"op 8 mei 2023":                              {"2023-05-08", "2023-05-08"},
		"2023年5月8日に何を食べましたか":                         {"2023-05-08", "2023-05-08"},
		"2023年5月の会議":                                 {"2023-05-01", "2023-05-31"},
		"2023년 5월 8일에":                               {"2023-05-08", "2023-05-08"},
		"25/5/2023":                                  {"2023-05-25", "2023-05-25"},
		"5/25/2023":                                  {"2023-05-25", "2023-05-25"},
		"5/5/2023":                                   {"2023-05-05", "2023-05-05"},
		"between 3 May 2023 and 9 May 2023":          {"2023-05-03", "2023-05-09"},
		"later than 9 May 2023, not 3 May 2023":      {"2023-05-03", "2023-05-09"},
		"31 February 2023, or rather 1 March 2023":   {"2023-03-01", "2023-03-01"},
		"2019-10-":                                   {"2019-10-01", "2019-10-31"}, // what they begin with
		"may 2023x5":                                 {"2023-05-01", "2023-05-31"},
		"12345678901234567890 May 2023a":             {"2023-05-01", "2023-05-31"},
		"call 555 2023 1234 on 2 January 2020 at 10": {"2020-01-02", "2020-01-02"},
	} {
		from, to, ok := fusion.Window(text)
		require.True(t, ok, text)
		require.Equal(t, want[0], from.AddDate(0, 0, 1).Format(time.DateOnly), text)
		require.Equal(t, want[1], to.AddDate(0, 0, -1).Format(time.DateOnly), text)
		require.Equal(t, "23:59:59.999999", to.Format("15:04:05.000000"), text)
	}
}

func TestNoWindow(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "hello", "in May", "on 8 May", "May I go in 2023?", "in 2023", "room 2023", "the 1990s", "5/6/2023", "2023-13-01", "32 May 2023",
		"31 June 2023", "2023/24", "1.2.3", "10.0.2.15", "year 0000-05-01", "9999-12-31", "version 2023.5", "20230508", "+49 30 2023",
		"２０２３年５月", "8-5-2023",
	} {
		from, to, ok := fusion.Window(text)
		require.False(t, ok, "%q: %s to %s", text, from, to)
	}
}

func FuzzWindow(f *testing.F) {
	for _, s := range []string{"8 May 2023", "2023年5月", "2023-05-08", "1.1.0001", "\xff8 \xffMay 2023"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		from, to, ok := fusion.Window(text)
		if !ok {
			return
		}
		require.True(t, from.Before(to))
		require.GreaterOrEqual(t, from.Year(), 0)
		require.LessOrEqual(t, to.Year(), 9999)
	})
}

// TestTimeNamed: rows of the time that the question names come first, even if they have none of
// its words.
func TestTimeNamed(t *testing.T) {
	t.Parallel()
	v := &view{
		words: words(1*second, 9.0, 100*second, 8.0, 200*second, 7.0, 300*second, 1.0),
		near:  near(1*second, 0.5, 400*second, 0.4),
		dated: words(300*second, 3.0, 200*second, 1.0), latest: words(500*second, 0.0, 300*second, 0.0),
	}
	q := driver.Query{Text: "x on 8 May 2023", K: 6}
	items := plan(t, v, q)
	require.Equal(t, 200*second, order(items)[0])
	require.ElementsMatch(t, []int{1 * second, 100 * second, 200 * second, 300 * second, 400 * second, 500 * second}, order(items))
	require.Greater(t, score(t, items, 300*second), score(t, items, 500*second))
	require.Less(t, score(t, items, 300*second), 2*score(t, items, 500*second), "each gets it once")
	require.Greater(t, score(t, items, 500*second), score(t, items, 400*second))
	require.Equal(t, []string{
		`words "x on 8 May 2023" 1000`, `embed "x on 8 May 2023"`, "vector [1] 100",
		`words "x on 8 May 2023" 1000 from 2023-05-07T00:00:00Z to 2023-05-09T23:59:59Z`,
		"latest 6 from 2023-05-07T00:00:00Z to 2023-05-09T23:59:59Z",
	}, v.asked)

	v.asked = nil
	plan(t, v, driver.Query{Text: "x on 8 May 2023", K: 2})
	require.Len(t, v.asked, 4, "enough of them have the words")

	// There may be nothing else.
	require.Equal(t, []int{500 * second}, order(plan(t, &view{latest: words(500*second, 0.0)}, q)))

	// Without them the others still rank.
	down := errors.New("down")
	for name, v := range map[string]*view{
		"dated": {words: words(1, 9.0, 2, 3.0), datedErr: down}, "latest": {words: words(1, 9.0, 2, 3.0), latestErr: down},
	} {
		require.Equal(t, []int{1, 2}, order(plan(t, v, q)), name)
	}
}
