package verify_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/verify"
)

func one(src verify.Source, fact string) verify.Verdict {
	return verify.New(verify.Options{}).Verify(src, []verify.Candidate{{Text: fact}})[0]
}

func TestEveryReason(t *testing.T) {
	t.Parallel()
	v := verify.New(verify.Options{MaxTextBytes: 40, Check: func(source, fact string) mem.RejectReason {
		if !strings.Contains(source, "Mira") {
			panic("another source")
		}
		if strings.Contains(fact, "cello") {
			return mem.RejectPolicy
		}
		return ""
	}})
	got := v.Verify(verify.Source{Text: "Mira: I moved to Lisbon. I play the cello."}, []verify.Candidate{
		{Text: "Mira moved to Lisbon."},
		{Text: " mira  moved to LISBON."},
		{Text: " \n"},
		{Text: strings.Repeat("Mira moved ", 4)},
		{Text: "Mira moved\x00"},
		{Text: "Mira moved\xff"},
		{Text: "It is what it is."},
		{Text: "Mira moved to Porto."},
		{Text: "Mira plays the cello."},
		{Text: "Mira: I moved to Lisbon. I play the cello", Verbatim: true},
		{Text: "Mira: I moved to Lisbon.", Verbatim: true},
		{Text: "Mira moved: I to Lisbon.", Verbatim: true},
		{Text: "Mira plays the  cello."},
	})
	require.Equal(t, []verify.Verdict{
		{},
		{Reason: mem.RejectDuplicate},
		{Reason: mem.RejectEmpty},
		{Reason: mem.RejectTooLong},
		{Reason: mem.RejectMalformed},
		{Reason: mem.RejectMalformed},
		{Reason: mem.RejectEmpty},
		{Reason: mem.RejectUnsupported, Mismatch: verify.MismatchWords},
		{Reason: mem.RejectPolicy},
		{Reason: mem.RejectPolicy},
		{},
		{Reason: mem.RejectUnsupported, Mismatch: verify.MismatchWords},
		{Reason: mem.RejectPolicy}, // a rejected one makes no duplicates
	}, got)
	for _, r := range got {
		require.Equal(t, r.Reason == "", r.Accepted())
		require.True(t, r.Reason == "" || r.Reason.Valid())
	}
}

func TestMismatches(t *testing.T) {
	t.Parallel()
	for fact, want := range map[string]verify.Mismatch{
		"Ann has 3 sons.":                     "",
		"Ann has three sons.":                 "",
		"Ann has 4 sons.":                     verify.MismatchNumber,
		"Ann has 12 sons.":                    verify.MismatchNumber, // the source has it, for something else
		"Ann has 12 cousins.":                 "",
		"Ann has no sons.":                    verify.MismatchNegation,
		"Ann does not like chess.":            "",
		"Ann likes chess.":                    verify.MismatchNegation,
		"Ann lives in Graz.":                  verify.MismatchSubject,
		"Ben lives in Graz.":                  "",
		"Ann lives in Linz.":                  verify.MismatchWords,
		"Ann was born on 4 May 1980.":         "",
		"Ann was born on 1980-05-04.":         "",
		"Ann was born on 5/4/1980.":           "",
		"Ann was born on 04.05.1980.":         "",
		"Ann was born on 1980-04-05.":         verify.MismatchDate,
		"Ann was born in 1981.":               verify.MismatchNumber,
		"Ann was born in 1980.":               "",
		"Ann's rent is 1200.50 euro.":         "",
		"Ann's rent is 1,200.50 euro.":        "",
		"Ann's rent is 1200 euro.":            verify.MismatchNumber,
		"Ann's rent is 120050 euro.":          verify.MismatchNumber,
		"Ann's train leaves at 17:45.":        "",
		"Ann's train leaves at 5:45.":         "",
		"Ann's train leaves at 17:54.":        verify.MismatchNumber,
		"Ann has three sons and 12 cousins.":  "",
		"Ann has twelve cousins and 12 sons.": verify.MismatchNumber,
	} {
		src := verify.Source{Text: "Ann: I have three sons and 12 cousins. I was born on May 4, 1980. I don't like chess!\n" +
			"Ben: I live in Graz.\nAnn: My rent is €1.200,50 and my train leaves at 5:45 pm."}
		got := one(src, fact)
		require.Equal(t, want, got.Mismatch, fact)
		require.Equal(t, want == "", got.Accepted(), fact)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source, fact string
		want         verify.Mismatch
	}{
		{"Ann: My dog barks.\nBen: She feeds the dog.", "Ann feeds the dog.", ""},
		{"Ann: My dog barks.\nBen: And feeds the dog.", "Ann feeds the dog.", verify.MismatchSubject},
		{"My wife lived in Osaka.", "The user lived in Osaka.", verify.MismatchSubject},
		{"My wife lived in Osaka.", "The user's wife lived in Osaka.", ""},
		{"It closes at 6 pm, not at 8 pm.", "It closes at 20:00.", verify.MismatchNegation},
		{"It closes at 6 pm, not at 8 pm.", "It closes at 18:00.", ""},
		{"Mi hermana canta.", "El hermano del usuario canta.", verify.MismatchWords},
		{"Mi hermana canta.", "La hermana del usuario canta.", ""},
		{"Yesterday Paula met Carl.", "Paula met Carla.", verify.MismatchWords},
		{"Yesterday Paula met Carl.", "Paula met Carlo.", verify.MismatchWords},
		{"Wir waren in Berlin.", "Berlins Nutzer waren in Berlin.", ""},
		{"I was running and swimming.", "The user runs and swims.", ""},
		{"I read a word.", "The user reads work.", verify.MismatchWords},
		{"I moved and haven't looked back.", "The user moved.", ""},
		{"I haven't moved and looked back.", "The user looked back.", verify.MismatchNegation},
		{"Seoul: 저는 서울에서 삽니다", "사용자는 서울에 산다", verify.MismatchWords}, // Korean verbs are beyond the rules
		{"저는 서울에서 일합니다", "저는 서울에서 일합니다", ""},
		{"Анна живёт в Москве.", "Анна живёт в Москве.", ""},
		{"Анна живёт в Москве.", "Анна живёт в Минске.", verify.MismatchWords},
	} {
		require.Equal(t, c.want, one(verify.Source{Text: c.source}, c.fact).Mismatch, "%s -> %s", c.source, c.fact)
	}
}

func TestRelativeDates(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 5, 8, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		source, fact string
		at           time.Time
		ok           bool
	}{
		{"I met Ann yesterday.", "The user met Ann on 2024-05-07.", now, true},
		{"I met Ann yesterday.", "The user met Ann on 7 May 2024.", now, true},
		{"I met Ann yesterday.", "The user met Ann on 2024-05-17.", now, false},
		{"I met Ann yesterday.", "The user met Ann on 2024-05-07.", time.Time{}, false},
		{"I met Ann.", "The user met Ann on 2024-05-07.", now, false},
		{"I met Ann last week.", "The user met Ann on 2024-04-30.", now, true},
		{"I met Ann last year.", "The user met Ann in 2023.", now, true},
		{"I met Ann last year.", "The user met Ann in 2019.", now, false},
		{"I met Ann 5 years ago.", "The user met Ann in 2019.", now, true},
		{"I met Ann 5 years ago.", "The user met Ann in 2015.", now, false},
		{"I met Ann on May 7.", "The user met Ann on 2024-05-07.", now, true},
		{"I met Ann on May 7.", "The user met Ann on 2014-05-07.", now, false},
		{"我昨天见了张伟。", "用户在2024年5月7日见了张伟。", now, true},
		{"我昨天见了张伟。", "用户在2024年6月7日见了张伟。", now, false},
	} {
		require.Equal(t, c.ok, one(verify.Source{Text: c.source, Time: c.at}, c.fact).Accepted(), "%s -> %s", c.source, c.fact)
	}
}

func TestContextCountsAsSource(t *testing.T) {
	t.Parallel()
	src := verify.Source{Text: "I play the cello."}
	require.False(t, one(src, "Mira Oduya plays the cello.").Accepted())
	src.Context = []string{"Mira Oduya"}
	require.True(t, one(src, "Mira Oduya plays the cello.").Accepted())
	require.False(t, one(src, "Mira Oduya plays 2 cellos.").Accepted())
	src = verify.Source{Text: "No.", Context: []string{"Do you smoke?"}}
	require.True(t, one(src, "The user does not smoke.").Accepted(), "what stands beside a source is not for or against")
}

func TestALongFactMayHaveOneWordOfItsOwn(t *testing.T) {
	t.Parallel()
	src := verify.Source{Text: "Ann painted the kitchen wall green with a brush from the market."}
	require.True(t, one(src, "Ann completely painted the kitchen wall green with a brush from the market.").Accepted())
	require.False(t, one(src, "Ann painted the kitchen wall green with a Bosch brush from the market.").Accepted())
	require.False(t, one(src, "Ann completely painted the kitchen wall green with a cheap brush from the market.").Accepted())
	require.False(t, one(src, "Ann painted the kitchen blue.").Accepted())
}

func TestAVerifierIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	v := verify.New(verify.Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, p := range grounded[:10] {
				if !v.Verify(verify.Source{Text: p.source}, []verify.Candidate{{Text: p.fact}})[0].Accepted() {
					panic("a call got another's verdict")
				}
			}
		})
	}
	wg.Wait()
}

// TestHugeInputsTakeBoundedWork runs texts that make an index long.
func TestHugeInputsTakeBoundedWork(t *testing.T) {
	t.Parallel()
	facts := make([]verify.Candidate, 100)
	for i := range facts {
		facts[i].Text = strings.Repeat("abcde abcdf 上海 7 ", 90) + strings.Repeat("x", i+1)
	}
	for name, unit := range map[string]string{
		"one word": "abcde ", "a clause each": "abcde. ", "negations": "not abcd, ", "numbers": "7 7.7 ", "Han": "上海北京。",
		"labels": "Ann: a\n", "dates": "May 7 2023 ", "commas": ",", "invalid": "\xff", "letters": "a",
	} {
		begun := time.Now()
		got := verify.New(verify.Options{}).Verify(verify.Source{Text: strings.Repeat(unit, 1<<20/len(unit))}, facts)
		require.Len(t, got, len(facts))
		t.Logf("%s: %s", name, time.Since(begun).Round(time.Millisecond))
		require.Less(t, time.Since(begun), 60*time.Second, name)
	}
}

func FuzzVerify(f *testing.F) {
	for _, p := range grounded {
		f.Add(p.source, p.fact)
	}
	f.Add("a: :b:\n]c:", "'t n't 1.2.3 7-May ５月")
	f.Fuzz(func(t *testing.T, source, fact string) {
		v := verify.New(verify.Options{})
		src := verify.Source{Text: source, Time: time.Date(2024, 5, 8, 0, 0, 0, 0, time.UTC)}
		facts := []verify.Candidate{{Text: fact}, {Text: fact}, {Text: fact, Verbatim: true}}
		got := v.Verify(src, facts)
		require.Len(t, got, 3)
		require.Equal(t, got, v.Verify(src, facts), "the same arguments, the same verdicts")
		for _, g := range got {
			require.True(t, g.Accepted() || g.Reason.Valid())
			require.Equal(t, g.Reason == mem.RejectUnsupported, g.Mismatch != "")
		}
		require.False(t, got[0].Accepted() && got[1].Accepted(), "a duplicate")
	})
}
