package kernel_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/memkernel/memkernel/kernel"
)

func remember(ctx context.Context, pool *pgxpool.Pool) error {
	if err := kernel.Migrate(ctx, pool); err != nil {
		return err
	}
	k, err := kernel.Open(pool)
	if err != nil {
		return err
	}
	key, err := k.Bootstrap(ctx, kernel.BootstrapRequest{Tenant: "acme", Actor: "user:dana"})
	if err != nil {
		return err // ErrConflict: the tenant has an owner already
	}
	dana, err := k.Authenticate(ctx, key.Secret) // shown once; only its hash is stored
	if err != nil {
		return err
	}
	_, err = k.Write(ctx, dana, kernel.WriteRequest{Text: "We deploy on Thursdays at 09:00 UTC."})
	if err != nil {
		return err
	}
	found, err := k.Search(ctx, dana, kernel.SearchRequest{Query: "When do we deploy?"})
	if err != nil {
		return err
	}
	for _, item := range found.Items {
		fmt.Println(item.Memory.Namespace, item.Memory.Text)
	}
	return nil
}

// The kernel on a pool of the host's: migrate, open, make the first key, write and search.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://memkernel@db.example.com:5432/memory")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	if err := remember(ctx, pool); err != nil {
		fmt.Println(err)
	}
}
