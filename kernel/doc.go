// Package kernel is the memory kernel for AI agents: governed memory on one Postgres database.
//
// A host opens a [Kernel] on its own pgx pool, or with [OpenDefault] on a private Postgres, gets an
// identity from a credential with [Kernel.Authenticate], and calls typed syscalls: Write,
// WriteAsync, Ticket, WaitVisible, Read, Search, Retract, History, Stats and AuditSearch, and those
// of its handles such as Keys, Policies, Entities and Conflicts. The caller's namespace and role decide what each call may see and do: a caller in
// acme/eng/platform reads acme/eng/platform, acme/eng and acme, and writes acme/eng/platform.
// Nothing is ever overwritten; a change ends one memory and begins another. Every call leaves
// exactly one audit row, durable before the answer is returned, whether it succeeded, was refused,
// found nothing or failed; if the row cannot be written the call fails.
//
// # What every syscall has in common
//
// All methods of a Kernel are safe for concurrent use, unless WithTx bound it to a
// transaction. An error is an *[OpError] around one of the sentinels of this package or the
// context's error. A call that returned an error because its context ended or the connection
// broke may still have taken effect; a Write with an idempotency key can be repeated safely.
// Missing and invisible are the same [ErrNotFound]. Memory text is never logged.
//
// Every call can be refused with [ErrUnauthenticated], [ErrForbidden], [ErrTenantSuspended] and
// [ErrRateLimited], and fail with [ErrUnavailable] when the database, the audit row included, is
// out of reach. A field out of bounds is an [ErrInvalid] or [ErrTooLarge] that names it, and
// nothing has happened. A repeat of a call that reads answers anew and counts anew.
//
// # Background work
//
// What need not be waited for is kept as a job in the same database and transaction, and run by
// whichever kernel was started with [Kernel.Start]: the writes of [Kernel.WriteAsync], the
// comparison of new memories with what they may contradict (see [Kernel.Conflicts]), the
// vectors of memories that were stored while the embedding model was down, and putting on record
// the ends of memories that have expired, on which no answer depends. Every kernel knows all kinds
// of work, started or not.
//
// The zero value of every option and request field is its documented default.
package kernel
