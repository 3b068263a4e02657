package kernel

import (
	"context"
	"fmt"
	"time"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
)

// Hook is an observer. A hook embeds [HookDefaults] and implements one or more of [SyscallHook],
// [ModelHook] and [DriverHook]; Open refuses one that implements none. Hooks run on the calling
// goroutine, must be safe for concurrent use and should be quick. A panic in one is logged and does
// not reach the caller. No hook sees text.
type Hook interface{ isHook() }

// HookDefaults marks a type as a Hook.
type HookDefaults struct{}

func (HookDefaults) isHook() {}

// SyscallHook observes syscalls. Authenticate and what the host does itself, Bootstrap and
// Tenants, are none.
type SyscallHook interface {
	// SyscallBegin runs first of all; the call goes on with the context it returns, which
	// may carry a trace span.
	SyscallBegin(ctx context.Context, op acl.Op) context.Context
	// SyscallEnd runs when the audit row is durable, or could not be made so.
	SyscallEnd(ctx context.Context, info SyscallInfo)
}

// SyscallInfo describes a finished syscall.
type SyscallInfo struct {
	Op acl.Op
	// Call is the id that the call's audit row goes by.
	Call mem.ID
	// Namespace, Actor and KeyID are the caller's, as the audit row has them; the zero
	// Namespace is a caller without an identity, an empty KeyID one that the host authenticated.
	Namespace acl.Namespace
	Actor     string
	KeyID     string
	Result    audit.Result
	// Err is what the caller gets.
	Err      error
	Duration time.Duration
}

// ModelHook observes calls to models.
type ModelHook interface {
	// ModelCall runs after a model has answered or failed.
	ModelCall(ctx context.Context, info ModelInfo)
}

// ModelInfo describes one call to a model.
type ModelInfo struct {
	// Model names the model, Texts counts what it was given.
	Model string
	Texts int
	// Usage is what a language model says that it cost.
	Usage    model.Usage
	Err      error
	Duration time.Duration
}

// DriverHook observes retrieval drivers.
type DriverHook interface {
	// DriverPlan runs after a driver has answered, failed or been given up on; not for one that was not
	// asked.
	DriverPlan(ctx context.Context, info DriverInfo)
}

// DriverInfo describes one plan.
type DriverInfo struct {
	Driver string
	// Items counts what was proposed, Violations how much of it the view had not served.
	Items, Violations int
	Err               error
	Duration          time.Duration
}

// checkHooks refuses a hook that would never be called.
func checkHooks(hooks []Hook) error {
	for i, h := range hooks {
		_, syscalls := h.(SyscallHook)
		_, models := h.(ModelHook)
		_, drivers := h.(DriverHook)
		if !syscalls && !models && !drivers {
			return &mem.InvalidError{
				Field: fmt.Sprintf("Hooks[%d]", i), Reason: fmt.Sprintf("%T implements none of SyscallHook, ModelHook and DriverHook", h),
			}
		}
	}
	return nil
}

func (k *Kernel) hookBegin(ctx context.Context, op acl.Op) context.Context {
	for _, h := range k.hooks {
		if s, ok := h.(SyscallHook); ok {
			ctx = k.beginOne(ctx, s, op) //nolint:fatcontext // each hook adds its own values to the call's context
		}
	}
	return ctx
}

func (k *Kernel) beginOne(ctx context.Context, h SyscallHook, op acl.Op) (out context.Context) {
	out = ctx
	defer k.recoverHook(ctx)
	if derived := h.SyscallBegin(ctx, op); derived != nil {
		out = derived
	}
	return out
}

// hookEnd tells the hooks how a call ended.
func (k *Kernel) hookEnd(ctx context.Context, c *call, cur *current, begun time.Time, err error) {
	info := SyscallInfo{
		Op: c.op, Call: cur.event.Call, Namespace: c.who.Namespace(), Actor: cur.event.Actor, KeyID: cur.event.KeyID,
		Result: cur.event.Result, Err: err, Duration: k.now().Sub(begun),
	}
	runHooks(ctx, k, func(h SyscallHook) { h.SyscallEnd(ctx, info) })
}

func runHooks[H any](ctx context.Context, k *Kernel, call func(H)) {
	for _, h := range k.hooks {
		if typed, ok := h.(H); ok {
			func() {
				defer k.recoverHook(ctx)
				call(typed)
			}()
		}
	}
}

func (k *Kernel) recoverHook(ctx context.Context) {
	if r := recover(); r != nil {
		k.logPanic(ctx, "hook", r)
	}
}
