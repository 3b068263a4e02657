//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/kernel/embedded"
)

const deb822 = `# The distribution
Types: deb deb-src
URIs: http://archive.example/debian
# a comment between fields
Suites: bookworm
 bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://archive.example/debian-security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb
URIs: http://vendor.example/apt
Suites: bookworm
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 xxxx
`

const oneLines = `# deb http://comment.example/debian bookworm main
deb-src http://source.example/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/vendor.gpg] http://vendor.example bookworm main
deb http://archive.example/debian/ bookworm main contrib # the real one
`

func TestAptSources(t *testing.T) {
	t.Parallel()
	release := embedded.NewRelease("debian", "12", "bookworm")
	for name, sources := range map[string][]embedded.AptSource{
		"deb822":   embedded.ParseDeb822(deb822),
		"one line": embedded.ParseOneLine(oneLines),
	} {
		s, ok := embedded.DistributionSource(sources, release)
		require.True(t, ok, name)
		require.Equal(t, "http://archive.example/debian", strings.TrimSuffix(s.URI(), "/"), name)
	}
	sources := embedded.ParseDeb822(deb822)
	require.Len(t, sources, 3)
	require.Equal(t, []string{"bookworm", "bookworm-updates"}, sources[0].Suites())
	require.Equal(t, "/usr/share/keyrings/debian-archive-keyring.gpg", sources[0].SignedBy())
	require.Empty(t, sources[2].SignedBy())
	vendor, ok := embedded.DistributionSource(embedded.ParseOneLine(oneLines)[:1], release)
	require.False(t, ok, vendor.URI())

	mirror := embedded.ParseDeb822("Types: deb\nURIs: mirror+file:///etc/apt/mirrors/debian.list\nSuites: trixie trixie-updates\nComponents: main\n")
	_, ok = embedded.DistributionSource(mirror, embedded.NewRelease("debian", "13", "trixie"))
	require.True(t, ok)
	ports := embedded.ParseOneLine("deb http://ports.example/ubuntu-ports noble main universe\n")
	_, ok = embedded.DistributionSource(ports, embedded.NewRelease("ubuntu", "24.04", "noble"))
	require.True(t, ok)
}

func TestSuites(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		id, version, codename string
		want                  string
	}{
		{"debian", "12", "bookworm", "trixie"},
		{"debian", "13", "trixie", "trixie"},
		{"debian", "", "forky", "forky"},
		{"ubuntu", "24.04", "noble", "resolute"},
		{"ubuntu", "25.10", "questing", "questing"},
		{"fedora", "42", "", ""},
	} {
		got := embedded.SuitesFor(embedded.NewRelease(tt.id, tt.version, tt.codename))
		require.Equal(t, tt.want, strings.Join(got, " "), tt.id+tt.version)
	}
}

func TestRemedy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ goos, id, version, want string }{
		{"darwin", "", "", "brew install "},
		{"linux", "debian", "13", "sudo apt-get install "},
		{"linux", "debian", "12", "docker run "},
		{"linux", "ubuntu", "26.04", "sudo apt-get install "},
		{"linux", "ubuntu", "24.04", "docker run "},
		{"linux", "fedora", "42", "sudo dnf install "},
		{"linux", "", "", "docker run "},
	} {
		got := embedded.RemedyFor(tt.goos, embedded.NewRelease(tt.id, tt.version, ""))
		require.True(t, strings.HasPrefix(got, tt.want), got)
	}
}

func TestOSRelease(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "os-release")
	require.NoError(t, os.WriteFile(path, []byte("NAME=\"X\"\nID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME='bookworm'\n"), 0o600))
	r := embedded.ReadOSRelease(path)
	require.Equal(t, embedded.NewRelease("debian", "12", "bookworm"), r)
	require.Equal(t, embedded.OSRelease{}, embedded.ReadOSRelease(path+"x"))
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"0.7.0": true, "0.8": true, "1.0": true, "0.10.1": true, "0.8.0-1": true,
		"0.6.2": false, "0.5": false, "": false, "x": false, "0": false,
	} {
		require.Equal(t, want, embedded.NewEnough(version), version)
	}
	require.Equal(t, "0.8.0", embedded.PackageVersion("Package: x\nVersion: 0.8.0-1\n"))
	require.Equal(t, "0.8.0", embedded.PackageVersion("Package: x\nVersion: 1:0.8.0-1+b2\n"))
	require.Empty(t, embedded.PackageVersion("Package: x\n"))
}

func TestNeedlessPackages(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"libllvm19": true, "perl-base": true, "postgresql-client-common": true,
		"postgresql-17": false, "postgresql-client-17": false, "libssl3t64": false, "libc6": false, "libpam0g": false,
	} {
		require.Equal(t, want, embedded.NeedlessPackage(name), name)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	require.Equal(t, `'it''s a \\ path'`, embedded.Quote("it's a \\ path"))
	require.Equal(t, `'one line'`, embedded.Quote("one\nline"))
	conf := embedded.Configuration(embedded.Config{Settings: map[string]string{"work_mem": "1MB", "max_connections": "7"}}, "/d", "/h", "/i", "/s")
	require.Contains(t, conf, "max_connections = '7'\n")
	require.Contains(t, conf, "work_mem = '1MB'\n")
	require.NotContains(t, conf, "fsync")
	for _, name := range []string{"listen_addresses", "hba_file", "Port", "port", "a b", "x'y"} {
		_, err := embedded.Start(t.Context(), embedded.Config{Settings: map[string]string{name: "1"}})
		require.ErrorContains(t, err, name)
	}
}

func TestSocketPath(t *testing.T) {
	t.Parallel()
	require.True(t, embedded.FitsSocket("/var/lib/memkernel/postgres/default/run"))
	require.False(t, embedded.FitsSocket("/"+strings.Repeat("x", 90)))
	require.True(t, embedded.FitsSocket("/"+strings.Repeat("x", 88)))
	require.False(t, embedded.FitsSocket("/with,comma"))
	require.False(t, embedded.FitsSocket("/with space"))
}
