package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/kerneltest"
)

// logBuffer is a log that tests read.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// planHook keeps what it is told of drivers.
type planHook struct {
	kernel.HookDefaults
	infos []kernel.DriverInfo
}

func (h *planHook) DriverPlan(_ context.Context, info kernel.DriverInfo) {
	h.infos = append(h.infos, info)
}

// Why a driver failed reaches the hooks as it was and the log without its text.
func TestDriverFailureIsTold(t *testing.T) {
	t.Parallel()
	cause := errors.New("sidecar cannot read 'the vault code is 7'")
	log, hook := &logBuffer{}, &planHook{}
	failing := planFunc(func(context.Context, driver.ScopedView, driver.Query) (driver.Plan, error) {
		return driver.Plan{}, cause
	})
	k := kerneltest.Open(t, kernel.WithDrivers(failing), kernel.WithLogger(log.logger()), kernel.WithHooks(hook))
	reply := must(k.Search(t.Context(), k.Key("acme/eng", kernel.RoleMember), kernel.SearchRequest{Query: "vault", Driver: "hostile"}))
	require.Equal(t, []kernel.Fallback{{Driver: "hostile", Reason: "error"}}, reply.Fallbacks)
	require.ErrorIs(t, hook.infos[0].Err, cause)
	require.Contains(t, log.String(), `level=WARN msg="driver failed" driver=hostile reason=error`)
	require.NotContains(t, log.String(), "vault")
}

// A driver that ends its goroutine has failed at once, and is not stuck.
func TestDriverEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	leaving := planFunc(func(context.Context, driver.ScopedView, driver.Query) (driver.Plan, error) {
		runtime.Goexit()
		return driver.Plan{}, nil
	})
	k := kerneltest.Open(t, kernel.WithDrivers(leaving), kernel.WithLimits(kernel.Limits{DriverTimeout: time.Hour}))
	who := k.Key("acme/eng", kernel.RoleMember)
	for range 20 { // more than may be stuck
		reply := must(k.Search(t.Context(), who, kernel.SearchRequest{Query: "vault", Driver: "hostile"}))
		require.Equal(t, []kernel.Fallback{{Driver: "hostile", Reason: "panic"}}, reply.Fallbacks)
	}
}

// What is wrong with a host's claims is in the log: to the caller all of it is the same.
func TestInvalidClaimsAreLogged(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*acl.Claims){
		"Namespace":  func(c *acl.Claims) { c.Namespace = acl.Namespace{} },
		"Role":       func(c *acl.Claims) { c.Role = "boss" },
		"Actor":      func(c *acl.Claims) { c.Actor = "da\x00na" },
		"AgentID":    func(c *acl.Claims) { c.AgentID = "\xff" },
		"Provenance": func(c *acl.Claims) { c.Provenance = "hearsay" },
	} {
		log := &logBuffer{}
		claims := acl.Claims{Namespace: kerneltest.Namespace(t, "acme/eng"), Actor: "user:dana", Role: kernel.RoleMember}
		change(&claims)
		login := &claimsLogin{next: func() (acl.Claims, error) { return claims, nil }}
		k := kerneltest.Open(t, kernel.WithAuthenticator(login), kernel.WithLogger(log.logger()))
		_, err := k.Authenticate(t.Context(), "a host's token")
		require.Equal(t, &kernel.OpError{Op: "authenticate", Err: kernel.ErrUnauthenticated}, err)
		require.Contains(t, log.String(), "level=WARN")
		require.Contains(t, log.String(), "field="+field)
	}
}

// deafHook observes nothing: its method is not one of a hook's.
type deafHook struct{ kernel.HookDefaults }

func (deafHook) SyscallBegin(context.Context, kernel.Op) {}

func TestDeafHooksAreRefused(t *testing.T) {
	t.Parallel()
	pool := kerneltest.Open(t).Pool
	for _, h := range []kernel.Hook{deafHook{}, nil} {
		_, err := kernel.Open(pool, kernel.WithHooks(&planHook{}, h))
		require.ErrorIs(t, err, kernel.ErrInvalid)
		require.Equal(t, "Hooks[1]", fieldOf(err))
	}
}

// A hook can tell whose call it saw, and find its audit row.
func TestSyscallInfoNamesTheCall(t *testing.T) {
	t.Parallel()
	o := &observer{name: "span"}
	k := kerneltest.Open(t, kernel.WithHooks(o))
	o.kit = func() *kerneltest.Kit { return k }
	who := k.Key("acme/eng", kernel.RoleMember)
	row := k.RequireAudit(t, "stats", "ok", func() { must(k.Stats(t.Context(), who, kernel.StatsRequest{})) })
	info := o.ended[len(o.ended)-1]
	require.Equal(t, row.Call, info.Call)
	require.Equal(t, who.Actor(), info.Actor)
	require.Equal(t, who.KeyID(), info.KeyID)
	require.NotEmpty(t, info.KeyID)
}
