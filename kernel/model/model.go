// Package model declares what the kernel asks of machine-learned models.
//
// It is a leaf: it holds interfaces and value types and imports nothing but the
// standard library, so that an adapter for any provider can implement them without
// pulling in the kernel. An implementation must never keep or log the text it is given.
package model

import "context"

// Info identifies one embedding model. Two vectors can be compared only if their
// Info is equal; the kernel stores it with every vector.
type Info struct {
	// Name identifies the model, for example "hashing" or "text-embedding-3-small".
	Name string
	// Revision changes whenever the same text would yield another vector.
	Revision string
	// Dim is the number of components of every vector the model returns.
	Dim int
	// InProcess reports that embedding is pure computation: it cannot hang, fail for
	// lack of a network, or send text anywhere. The kernel then skips the extra commit
	// that makes a write's raw input durable before a remote model is asked.
	InProcess bool
	// Trusted reports that the operator has bound the service behind a model that is not in
	// the process to keep what it is sent: personal data may go there.
	Trusted bool
}

// Embedder turns texts into vectors.
//
// Implementations must be safe for concurrent use.
type Embedder interface {
	// Info describes the model. It does no I/O and always returns the same value.
	Info() Info

	// Embed returns one vector of Info().Dim finite components per text, in order.
	// Vectors need not have unit length; the kernel normalises them. On failure it
	// returns an error and no vectors; the kernel then degrades to the lexical arm and
	// says so. It must return promptly with ctx.Err() when ctx is done. Calling it
	// again with the same texts returns the same vectors.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// TenantEmbedder is an Embedder that keeps accounts, such as a spend cap, by tenant.
type TenantEmbedder interface {
	Embedder

	// For returns the model that the kernel asks on behalf of a tenant: the same model, of the same
	// Info. It must not be nil.
	For(tenant string) Embedder
}
