package pgtest

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/audit"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/queries"
)

// AuditLog reads the whole audit log of a database, oldest row first, whoever it belongs to.
func AuditLog(ctx context.Context, pool *pgxpool.Pool) ([]audit.Event, error) {
	rows, err := queries.New(pool).AuditDump(ctx)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	out := make([]audit.Event, len(rows))
	for i, r := range rows {
		out[i] = audit.Event{
			Seq: r.Seq, Call: mem.ID(r.CallID), Time: r.Ts.UTC(), Tenant: r.Tenant, Namespace: r.Namespace, Actor: r.Actor,
			AgentID: r.AgentID, Op: acl.Op(r.Op), Result: audit.Result(r.Result), Detail: r.Detail,
		}
		if r.KeyID != nil {
			out[i].KeyID = r.KeyID.String()
		}
		if r.MemoryID != nil {
			out[i].MemoryID = mem.ID(*r.MemoryID)
		}
		if r.Purpose != nil {
			out[i].Purpose = *r.Purpose
		}
	}
	return out, nil
}
