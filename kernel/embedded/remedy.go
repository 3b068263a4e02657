package embedded

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// osRelease is what /etc/os-release says about a Linux distribution.
type osRelease struct {
	id       string // "debian", "ubuntu", "fedora", ...
	version  string // VERSION_ID, "" for rolling ones
	codename string
}

func readOSRelease(path string) osRelease {
	f, err := os.Open(path) //nolint:gosec // a fixed path, another one in tests
	if err != nil {
		return osRelease{}
	}
	defer func() { _ = f.Close() }()
	var r osRelease
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), "=")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		switch key {
		case "ID":
			r.id = value
		case "VERSION_ID":
			r.version = value
		case "VERSION_CODENAME":
			r.codename = value
		}
	}
	return r
}

// atLeast compares the release with a version like "13" or "25.04". A release without a
// version is a rolling one, and newer than any.
func (r osRelease) atLeast(major, minor int) bool {
	if r.version == "" {
		return true
	}
	a, b, _ := strings.Cut(r.version, ".")
	x, err := strconv.Atoi(a)
	if err != nil {
		return false
	}
	y, _ := strconv.Atoi(b)
	return x > major || x == major && y >= minor
}

const releaseFile = "/etc/os-release"

// remedy names the one command that makes PostgreSQL with pgvector available here.
func remedy() string {
	return remedyFor(runtime.GOOS, readOSRelease(releaseFile))
}

func remedyFor(goos string, r osRelease) string {
	switch {
	case goos == "darwin":
		return "brew install postgresql@17 pgvector"
	case r.id == "debian" && r.atLeast(13, 0):
		return "sudo apt-get install postgresql-17-pgvector"
	case r.id == "ubuntu" && r.atLeast(26, 4):
		return "sudo apt-get install postgresql-18-pgvector"
	case r.id == "ubuntu" && r.atLeast(25, 4):
		return "sudo apt-get install postgresql-17-pgvector"
	case r.id == "fedora":
		return "sudo dnf install postgresql-server pgvector"
	default:
		return "docker run -d -p 127.0.0.1:5432:5432 -e POSTGRES_PASSWORD=memkernel pgvector/pgvector:pg17" +
			" (then DATABASE_URL=postgres://postgres:memkernel@127.0.0.1:5432/postgres)"
	}
}
