package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/memkernel/memkernel/acl"
	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
)

// maxKeys bounds the file with the keys, in bytes.
const maxKeys = 1 << 20

// keyring holds the keys that a run works with: the owner's of its tenant, and one per
// namespace and origin to write with. An idempotency key is its writer's own, so a later run
// must have the same ones to recognise what is written.
type keyring struct {
	kernel *kernel.Kernel
	path   string // of the file that they are kept in, "" for none
	kept   keptKeys
	owner  kernel.Identity
	base   kernel.Namespace // what namespaces of the input are below
	in     map[scribeOf]*scribe
}

type scribeOf struct {
	origin    origin
	namespace kernel.Namespace
}

// keptKeys are credentials as the file has them.
type keptKeys struct {
	Owner  string            `json:"owner"`
	Others map[string]string `json:"others"` // by actor and namespace
}

// scribe is who works for one origin in one namespace: an agent that writes, and an auditor
// that looks at what was written, because an auditor's look does not count as an access.
type scribe struct {
	writer, reader kernel.Identity
}

// openKeys reads the keys in the file at path, if it is there, or else makes a tenant, whose
// first key is shown once: without a file the run is the only one that can use it.
func openKeys(ctx context.Context, k *kernel.Kernel, path, namespace string) (*keyring, error) {
	r := &keyring{kernel: k, path: path, in: map[scribeOf]*scribe{}}
	if err := r.load(); err != nil {
		return nil, err
	}
	if r.kept.Owner == "" {
		if err := r.save(); err != nil { // before there is something to lose
			return nil, err
		}
		first, err := k.Bootstrap(ctx, kernel.BootstrapRequest{
			Tenant: "ingest-" + strings.ToLower(rand.Text()[:8]), Actor: "user:ingest", Label: "ingest",
		})
		if err != nil {
			return nil, err
		}
		r.kept.Owner = first.Secret
		if err := r.save(); err != nil {
			return nil, err
		}
	}
	var err error
	if r.owner, err = k.Authenticate(ctx, r.kept.Owner); err != nil {
		return nil, err
	}
	r.base, err = acl.ParseNamespace(r.owner.Tenant() + "/" + namespace)
	if err != nil {
		return nil, fmt.Errorf("-namespace %q: %w", namespace, err)
	}
	return r, nil
}

// rule has policy do with secrets what the run is to do, unless it is in force already. What a
// policy above says goes on to hold where it is stricter.
func (r *keyring) rule(ctx context.Context, secrets kernel.SecretRule) error {
	var policy kernel.Policy
	switch latest, err := r.kernel.Policies().Get(ctx, r.owner, kernel.GetPolicyRequest{Namespace: r.base}); {
	case err == nil:
		policy = latest.Policy
	case !errors.Is(err, kernel.ErrNotFound):
		return err
	}
	if policy.Write.Secrets == secrets {
		return nil
	}
	policy.Write.Secrets = secrets
	_, err := r.kernel.Policies().Put(ctx, r.owner, kernel.PutPolicyRequest{Namespace: r.base, Policy: policy})
	return err
}

// scribe returns who works for an origin in a namespace below the base, "" for the base itself.
// What documents say outranks what is said in a chat.
func (r *keyring) scribe(ctx context.Context, from origin, below string) (*scribe, error) {
	of := scribeOf{from, r.base}
	if below != "" {
		var err error
		if of.namespace, err = acl.ParseNamespace(r.base.String() + "/" + below); err != nil {
			return nil, err
		}
	}
	if s := r.in[of]; s != nil {
		return s, nil
	}
	trust := mem.ProvenanceConversation
	if from == fromDocs {
		trust = mem.ProvenanceDocument
	}
	var s scribe
	for _, key := range []struct {
		who     *kernel.Identity
		request kernel.KeyRequest
	}{
		{&s.writer, kernel.KeyRequest{Actor: "agent:" + string(from), Role: kernel.RoleAgent, Provenance: trust}},
		{&s.reader, kernel.KeyRequest{Actor: "user:reader", Role: kernel.RoleAuditor}},
	} {
		key.request.Namespace, key.request.AgentID = of.namespace, "ingest"
		var err error
		if *key.who, err = r.identity(ctx, key.request); err != nil {
			return nil, err
		}
	}
	r.in[of] = &s
	return &s, nil
}

// identity resolves the key that is kept for a holder, or a new one.
func (r *keyring) identity(ctx context.Context, req kernel.KeyRequest) (kernel.Identity, error) {
	name := req.Actor + " " + req.Namespace.String()
	if r.kept.Others[name] == "" {
		key, err := r.kernel.Keys().Create(ctx, r.owner, req)
		if err != nil {
			return kernel.Identity{}, err
		}
		r.kept.Others[name] = key.Secret
		if err := r.save(); err != nil {
			return kernel.Identity{}, err
		}
	}
	return r.kernel.Authenticate(ctx, r.kept.Others[name])
}

func (r *keyring) load() error {
	r.kept.Others = map[string]string{}
	if r.path == "" {
		return nil
	}
	f, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	defer func() { _ = f.Close() }()
	in := json.NewDecoder(io.LimitReader(f, maxKeys))
	in.DisallowUnknownFields() // a file that is something else is not to be written over
	if err := in.Decode(&r.kept); err != nil {
		return fmt.Errorf("keys: %s is no file of keys", r.path) // no word of it is shown
	}
	if r.kept.Others == nil {
		r.kept.Others = map[string]string{}
	}
	return nil
}

// save writes the keys for the user alone, and never half of them.
func (r *keyring) save() error {
	if r.path == "" {
		return nil
	}
	text, err := json.Marshal(&r.kept)
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(r.path), ".keys-*")
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), r.path)
	}
	if err != nil {
		return fmt.Errorf("keys: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
