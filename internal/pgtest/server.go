package pgtest

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/memkernel/memkernel/queries"
)

// session is this test binary's share of the server.
type session struct {
	mu         sync.Mutex
	url        string   // "" until joined
	users      *os.File // holds the shared lock until this process ends
	templateOf string   // name of the migrated template, "" until known
}

var process session //nolint:gochecknoglobals // the server is shared by all tests of the binary

// server returns the connection string of the server's maintenance database.
func (s *session) server(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.serverLocked(ctx)
}

func (s *session) serverLocked(ctx context.Context) (string, error) {
	if s.url != "" {
		return s.url, nil
	}
	if external := os.Getenv(EnvURL); external != "" {
		s.url = external
		return s.url, nil
	}
	joined, users, err := join(ctx)
	if err != nil {
		return "", err
	}
	s.url, s.users = joined, users
	return s.url, nil
}

// template returns the name of the migrated template, building it if the server has none
// for this schema.
func (s *session) template(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.templateOf != "" {
		return s.templateOf, nil
	}
	server, err := s.serverLocked(ctx)
	if err != nil {
		return "", err
	}
	name := templatePrefix + queries.SchemaHash()
	err = withConn(ctx, server, func(ctx context.Context, conn *pgx.Conn) error {
		return buildTemplate(ctx, conn, server, name)
	})
	if err != nil {
		return "", err
	}
	s.templateOf = name
	return name, nil
}

// buildTemplate makes sure that the template exists. Test binaries that start together wait
// for the first. A database that is not marked as a template is one whose builder died.
func buildTemplate(ctx context.Context, conn *pgx.Conn, server, name string) error {
	key := fnv.New64a()
	_, _ = key.Write([]byte(name))
	if err := queries.AdvisoryLock(ctx, conn, int64(key.Sum64())); err != nil { //nolint:gosec // any number will do
		return err
	}
	_, isTemplate, err := queries.DatabaseExists(ctx, conn, name)
	if err != nil || isTemplate {
		return err
	}
	if err := queries.DatabaseDrop(ctx, conn, name); err != nil {
		return err
	}
	if err := queries.DatabaseCreate(ctx, conn, name, "template0"); err != nil {
		return err
	}
	err = withConn(ctx, withDatabase(server, name), func(ctx context.Context, db *pgx.Conn) error {
		return queries.Migrate(ctx, db)
	})
	if err != nil {
		return fmt.Errorf("migrate the template: %w", err)
	}
	return queries.DatabaseSetTemplate(ctx, conn, name, true)
}

// withConn runs fn with a connection of its own. There is no lasting one, since its
// goroutines and its place among the server's connections would outlive the test.
func withConn(ctx context.Context, url string, fn func(context.Context, *pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	err = fn(ctx, conn)
	if closeErr := conn.Close(context.WithoutCancel(ctx)); err == nil && closeErr != nil {
		err = fmt.Errorf("close connection: %w", closeErr)
	}
	return err
}

// withDatabase returns a connection string with another database.
func withDatabase(server, name string) string {
	if !strings.HasPrefix(server, "postgres://") && !strings.HasPrefix(server, "postgresql://") {
		return server + " dbname=" + name // the last one counts
	}
	u, err := url.Parse(server)
	if err != nil {
		return server // pgx reports what is wrong with it
	}
	u.Path = "/" + name
	query := u.Query()
	query.Del("dbname")
	query.Del("database")
	u.RawQuery = query.Encode()
	return u.String()
}
