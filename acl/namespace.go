package acl

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of a namespace path.
const (
	// MaxNamespaceSegments is the largest number of segments in a path.
	MaxNamespaceSegments = 16
	// MaxNamespaceBytes is the largest length of a path in bytes.
	MaxNamespaceBytes = 512
)

// ErrNamespace is the reason every malformed namespace shares; compare with errors.Is.
var ErrNamespace = errors.New("malformed namespace")

// Namespace is a validated path such as acme/eng/platform. Its first segment is the tenant.
// Comparison is by bytes: case matters and no two spellings are folded together. The zero
// value is no namespace: it sees nothing, nothing sees it, and it lies in no subtree.
// Namespaces are comparable with ==.
type Namespace struct{ path string }

// ParseNamespace validates path. A path has 1 to MaxNamespaceSegments segments separated by
// "/", none of them empty, "." or "..", and at most MaxNamespaceBytes bytes of valid UTF-8
// in Unicode normalisation form C without control characters. All other characters are
// legal, "_", "%", "\" and quotes among them. The error wraps ErrNamespace and says which
// rule was broken.
func ParseNamespace(path string) (Namespace, error) {
	if err := checkNamespace(path); err != nil {
		return Namespace{}, fmt.Errorf("%w: %w", ErrNamespace, err)
	}
	return Namespace{path: path}, nil
}

func checkNamespace(path string) error {
	switch {
	case path == "":
		return errors.New("it is empty")
	case len(path) > MaxNamespaceBytes:
		return fmt.Errorf("%d bytes, at most %d", len(path), MaxNamespaceBytes)
	case !utf8.ValidString(path):
		return errors.New("it is not valid UTF-8")
	case strings.ContainsFunc(path, isControl):
		return errors.New("it contains a control character")
	case !norm.NFC.IsNormalString(path):
		return errors.New("it is not in normalisation form C")
	}
	segments := strings.Split(path, "/")
	if len(segments) > MaxNamespaceSegments {
		return fmt.Errorf("%d segments, at most %d", len(segments), MaxNamespaceSegments)
	}
	for i, s := range segments {
		if s == "" || s == "." || s == ".." {
			return fmt.Errorf("segment %d is %q", i+1, s)
		}
	}
	return nil
}

// isControl counts the line and paragraph separators as controls: they break lines in logs.
func isControl(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// String returns the path, "" for the zero value.
func (n Namespace) String() string { return n.path }

// IsZero reports whether n is no namespace.
func (n Namespace) IsZero() bool { return n.path == "" }

// Tenant returns the first segment, "" for the zero value.
func (n Namespace) Tenant() string {
	tenant, _, _ := strings.Cut(n.path, "/")
	return tenant
}

// Parent returns the namespace one segment up; ok is false at the tenant's root and for the
// zero value.
func (n Namespace) Parent() (parent Namespace, ok bool) {
	i := strings.LastIndexByte(n.path, '/')
	if i < 0 {
		return Namespace{}, false
	}
	return Namespace{path: n.path[:i]}, true
}

// Ancestors returns n and every namespace above it, from the tenant's root down to n itself.
// It is exactly the set that n sees. The zero value has none.
func (n Namespace) Ancestors() []Namespace {
	if n.IsZero() {
		return nil
	}
	out := make([]Namespace, 0, MaxNamespaceSegments)
	for i := range len(n.path) {
		if n.path[i] == '/' {
			out = append(out, Namespace{path: n.path[:i]})
		}
	}
	return append(out, n)
}

// Sees reports whether a caller in n sees the memories of other: whether other is n or one
// of its ancestors. Siblings and descendants are invisible.
func (n Namespace) Sees(other Namespace) bool { return n.InSubtree(other) }

// InSubtree reports whether n is root or lies below it, by whole segments.
func (n Namespace) InSubtree(root Namespace) bool {
	if n.IsZero() || root.IsZero() {
		return false
	}
	rest, ok := strings.CutPrefix(n.path, root.path)
	return ok && (rest == "" || rest[0] == '/')
}

// MarshalText implements encoding.TextMarshaler.
func (n Namespace) MarshalText() ([]byte, error) { return []byte(n.path), nil }

// UnmarshalText implements encoding.TextUnmarshaler; it validates like ParseNamespace and
// takes the empty text for the zero value.
func (n *Namespace) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*n = Namespace{}
		return nil
	}
	parsed, err := ParseNamespace(string(text))
	if err != nil {
		return err
	}
	*n = parsed
	return nil
}
