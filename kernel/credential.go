package kernel

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"strings"
	"time"

	"github.com/memkernel/memkernel/internal/store"
	"github.com/memkernel/memkernel/kernel/mem"
)

// A credential is "mk_" + prefix + "_" + secret: 60 random bits in base32 to find the key by,
// and 256 random bits in base64url that only the holder knows. Only the SHA-256 of the whole
// is stored; the secret has too much entropy for a slower hash to add anything.
const (
	credentialMark = "mk_"
	prefixLen      = 12
	secretLen      = 43
)

// newCredential returns a credential with its public prefix and its hash.
func newCredential() (credential, prefix string, hash []byte) {
	var b [40]byte
	_, _ = rand.Read(b[:]) // never fails
	prefix = strings.ToLower(base32.StdEncoding.EncodeToString(b[32:]))[:prefixLen]
	credential = credentialMark + prefix + "_" + base64.RawURLEncoding.EncodeToString(b[:32])
	sum := sha256.Sum256([]byte(credential))
	return credential, prefix, sum[:]
}

// credentialPrefix returns the public prefix of a credential of the kernel's own form.
func credentialPrefix(credential string) (string, bool) {
	rest, ok := strings.CutPrefix(credential, credentialMark)
	if !ok || len(rest) != prefixLen+1+secretLen || rest[prefixLen] != '_' {
		return "", false
	}
	return rest[:prefixLen], true
}

// matchKey returns the key whose secret the credential holds, or nil. It compares with
// every candidate, and with a dummy when there is none, in constant time.
func matchKey(keys []store.Key, credential string) *store.Key {
	sum := sha256.Sum256([]byte(credential))
	var found *store.Key
	for i := range keys {
		if subtle.ConstantTimeCompare(keys[i].Hash, sum[:]) == 1 {
			found = &keys[i]
		}
	}
	if len(keys) == 0 {
		subtle.ConstantTimeCompare(make([]byte, sha256.Size), sum[:])
	}
	return found
}

func newID(now time.Time) mem.ID {
	id, err := mem.NewID(now, rand.Reader)
	if err != nil {
		panic(err) // crypto/rand does not fail since Go 1.24
	}
	return id
}
