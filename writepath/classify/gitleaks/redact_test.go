package gitleaks_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/classify"
	"github.com/memkernel/memkernel/writepath/classify/gitleaks"
)

// rounds redacts text until nothing is found in it, as the kernel does, and returns what is left
// and how often that took.
func rounds(tb testing.TB, s *gitleaks.Scanner, text string) (left string, n int) {
	tb.Helper()
	builtin := classify.New()
	for n := range 100 {
		result := builtin.Classify(text)
		findings, err := s.Scan(tb.Context(), text)
		require.NoError(tb, err)
		require.NoError(tb, result.Merge(text, findings))
		if len(result.SecretKinds) == 0 {
			return text, n
		}
		text = classify.Redact(text, result.Findings)
	}
	require.FailNow(tb, "the text is never free of secrets", text)
	return text, n
}

// TestRedactionEnds: one round takes every secret out, and none is found in what stands for it.
func TestRedactionEnds(t *testing.T) {
	t.Parallel()
	s := newScanner(t, gitleaks.Config{})
	for _, e := range unknown() {
		left, n := rounds(t, s, e.text)
		require.Equal(t, 1, n, e.name)
		require.NotContains(t, left, e.want[0].value)
		require.Contains(t, left, "[redacted:"+string(e.want[0].kind)+"]")
	}
	key := draw(alnum, 20, "z")
	left, n := rounds(t, s, "api_key = \""+key+"\"\nand "+key+" by itself")
	require.Equal(t, "api_key = \"[redacted:api_key]\"\nand [redacted:api_key] by itself", left)
	require.Equal(t, 1, n)
}

// TestMarksAreNoSecrets: by no rule, whatever it takes, and no mark is broken.
func TestMarksAreNoSecrets(t *testing.T) {
	t.Parallel()
	s := newScanner(t, gitleaks.Config{TOML: `
[[rules]]
id = "all-of-it"
regex = '''(?s).+'''
[[rules]]
id = "behind-pass"
regex = '''pass: (.+)'''
[[rules]]
id = "in-brackets"
regex = '''\[(\w{8}:\w+)\]'''
[[rules]]
id = "up-to-a-bracket"
regex = '''x[^\]]+'''
`})
	for _, kind := range []classify.Kind{classify.APIKey, classify.SaaSToken, classify.SeedPhrase, classify.JWT, classify.MemkernelKey} {
		mark := classify.Redact("x", []classify.Finding{{Kind: kind, Start: 0, End: 1}})
		require.Empty(t, scan(t, s, mark))
		for _, text := range []string{"pass: " + mark, "pass: " + mark + " and more", "x" + mark, "pass: x" + mark + "y" + mark, mark + mark} {
			for _, f := range scan(t, s, text) {
				require.Equal(t, strings.Count(f.value, "["), strings.Count(f.value, "]"), "%q in %q", f.value, text)
			}
			_, n := rounds(t, s, text)
			require.LessOrEqual(t, n, 3, text)
		}
	}
	require.NotEmpty(t, scan(t, s, "pass: [redacted:hunter22]"), "of no kind, so no mark")
	require.NotEmpty(t, scan(t, s, "[redacted:email]"), "nor is this one: personal data is not redacted")
}

// TestInKernel: a kernel with the scanner keeps nothing of what only the scanner knows.
func TestInKernel(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kernel.WithClassifier(newScanner(t, gitleaks.Config{})))
	ctx, admin, dana := t.Context(), k.Key("acme", kernel.RoleAdmin), k.Key("acme/eng", kernel.RoleMember)
	e := unknown()[0]
	write := func() *kernel.WriteReply {
		reply, err := k.Write(ctx, dana, kernel.WriteRequest{Text: e.text})
		require.NoError(t, err)
		return reply
	}
	rule := func(r kernel.SecretRule) {
		_, err := k.Policies().Put(ctx, admin, kernel.PutPolicyRequest{Policy: kernel.Policy{Write: kernel.WritePolicy{Secrets: r}}})
		require.NoError(t, err)
	}
	rule(mem.SecretsBlock)
	require.Equal(t, []kernel.Rejection{{Reason: mem.RejectSecret}}, write().Rejected)

	rule(mem.SecretsRedact)
	reply := write()
	require.Equal(t, 1, reply.Redacted)
	require.Len(t, reply.Stored, 1)
	read, err := k.Read(ctx, dana, kernel.ReadRequest{ID: reply.Stored[0]})
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(e.text, e.want[0].value, "[redacted:saas_token]"), read.Memory.Text)

	rule(mem.SecretsAllow)
	reply = write()
	require.Len(t, reply.Stored, 1)
	read, err = k.Read(ctx, dana, kernel.ReadRequest{ID: reply.Stored[0]})
	require.NoError(t, err)
	require.Equal(t, e.text, read.Memory.Text)
	require.Equal(t, []string{"saas_token"}, read.Memory.Classification.SecretKinds)
	require.Equal(t, mem.SensitivityRestricted, read.Memory.Classification.Sensitivity)
}
