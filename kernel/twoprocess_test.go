package kernel_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

func isConflict(err error) bool { return errors.Is(err, kernel.ErrConflict) }

// peerEnv makes the test binary, run again for one test, the other process of that test.
const peerEnv = "MEMKERNEL_KERNEL_TEST_PEER"

// peerJob is what the other process gets: a database and a credential.
type peerJob struct{ URL, Secret string }

// slowModel simulates a remote model that takes a while.
func slowModel(latency time.Duration) *kerneltest.Embedder {
	return &kerneltest.Embedder{OnEmbed: func(ctx context.Context, _ []string) error {
		timer := time.NewTimer(latency)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

const (
	writersPerProcess = 32
	oneText           = "The office moves to Bern on 1 May."
	modelLatency      = 200 * time.Millisecond
)

// writeOneText writes the text from many goroutines and returns the replies.
func writeOneText(t *testing.T, k *kerneltest.Kit, secret string) [writersPerProcess]*kernel.WriteReply {
	t.Helper()
	who, err := k.Authenticate(t.Context(), secret)
	require.NoError(t, err)
	var replies [writersPerProcess]*kernel.WriteReply
	together(writersPerProcess, func(i int) {
		var err error
		replies[i], err = k.Write(t.Context(), who, kernel.WriteRequest{Text: oneText})
		if err != nil {
			t.Error(err)
		}
	})
	require.False(t, t.Failed())
	return replies
}

// TestTwoProcessesWriteOneText is also what the other process runs.
func TestTwoProcessesWriteOneText(t *testing.T) {
	t.Parallel()
	if text := os.Getenv(peerEnv); text != "" {
		writeAsPeer(t, text)
		return
	}
	k := kerneltest.Open(t, kernel.WithEmbedder(slowModel(modelLatency)))
	_, cred := k.Credential("acme/eng", kernel.RoleMember)
	before := len(k.Audit())

	job, err := json.Marshal(peerJob{URL: k.Pool.Config().ConnString(), Secret: cred.Secret})
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTwoProcessesWriteOneText$")
	cmd.Env = append(os.Environ(), peerEnv+"="+string(job))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(stdout)
	ready, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", ready)

	_, err = stdin.Write([]byte("go\n"))
	require.NoError(t, err)
	replies := writeOneText(t, k, cred.Secret)
	answer, err := lines.ReadBytes('\n')
	require.NoError(t, err)
	var theirs [writersPerProcess]*kernel.WriteReply
	require.NoError(t, json.Unmarshal(answer, &theirs), string(answer))
	_, err = io.Copy(io.Discard, lines)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())

	var stored, same []kernel.ID
	for _, r := range append(replies[:], theirs[:]...) {
		stored = append(stored, r.Stored...)
		same = append(same, r.Deduplicated...)
		require.Empty(t, r.Degraded)
	}
	require.Len(t, stored, 1)
	require.Len(t, same, 2*writersPerProcess-1)
	for _, id := range same {
		require.Equal(t, stored[0], id)
	}
	require.Equal(t, 1, sqlValue[int](t, k.Pool, `SELECT count(*) FROM memkernel.memory_objects`))
	require.Equal(t, 1, sqlValue[int](t, k.Pool, `SELECT count(*) FROM memkernel.memory_vectors`))
	require.Equal(t, 2*writersPerProcess-1, sqlValue[int](t, k.Pool, `SELECT sum(hits)::int FROM memkernel.memory_access`))
	events := k.Audit()[before:]
	require.Len(t, events, 2*writersPerProcess)
	for _, e := range events {
		require.Equal(t, kernel.Op("write"), e.Op)
		require.Equal(t, kernel.AuditResult("ok"), e.Result)
		require.Equal(t, stored[0], e.MemoryID)
	}
	requireSound(t, k.Pool)
}

func writeAsPeer(t *testing.T, text string) {
	t.Helper()
	var job peerJob
	require.NoError(t, json.Unmarshal([]byte(text), &job))
	pool, err := pgxpool.New(t.Context(), job.URL)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	k := kerneltest.OpenOn(t, pool, kernel.WithEmbedder(slowModel(modelLatency)))
	require.NoError(t, pool.Ping(t.Context()))
	_, err = os.Stdout.WriteString("ready\n")
	require.NoError(t, err)
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	require.NoError(t, err)
	replies := writeOneText(t, k, job.Secret)
	require.NoError(t, json.NewEncoder(os.Stdout).Encode(replies))
}
