// Package host is what the examples do as hosts of a kernel: open it, close it in order, and make
// keys.
package host

import (
	"context"
	"errors"
	"time"

	"github.com/memkernel/memkernel/kernel"
)

// closeTimeout is how long what was opened may take to close.
const closeTimeout = 30 * time.Second

// Use opens the kernel, on the database that DATABASE_URL names or else a private PostgreSQL, for as
// long as use runs. What was opened is closed in order, also when ctx has ended.
func Use(ctx context.Context, use func(*kernel.Kernel) error, opts ...kernel.Option) (err error) {
	k, err := kernel.OpenDefault(ctx, opts...)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, k.Close(ctx))
	}()
	return use(k)
}

// IssueKey makes a key and resolves it, as a program that was handed the secret would.
func IssueKey(ctx context.Context, k *kernel.Kernel, maker kernel.Identity, req kernel.KeyRequest) (kernel.Identity, error) {
	key, err := k.Keys().Create(ctx, maker, req)
	if err != nil {
		return kernel.Identity{}, err
	}
	return k.Authenticate(ctx, key.Secret)
}
