//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// apt runs apt with a state of its own below dir: no file of the system is read but its
// archive address, keyring, credentials and network settings, and none is written.
type apt struct {
	dir     string
	release osRelease
	suite   string
	source  aptSource
	p       *progress
}

// configure writes the private configuration.
func (a *apt) configure(ctx context.Context) error {
	for _, d := range []string{"lists/partial", "cache/archives/partial", "debs", "root"} {
		if err := makeDir(filepath.Join(a.dir, d), 0o755); err != nil {
			return err
		}
	}
	out, err := run(ctx, command(ctx, append(os.Environ(), "LC_ALL=C"), "dpkg", "--print-architecture"))
	if err != nil {
		return err
	}
	options := ""
	if keyring := keyringFor(a.source, a.release); keyring != "" {
		options = "[signed-by=" + keyring + "] "
	}
	components := "main"
	if a.release.id == "ubuntu" {
		components = "main universe" // where pgvector is
	}
	line := fmt.Sprintf("deb %s%s %s %s\n", options, a.source.uri, a.suite, components)
	network, err := a.networkSettings(ctx)
	if err != nil {
		return err
	}
	conf := network + fmt.Sprintf(`APT::Architecture %[2]q;
APT::Architectures { %[2]q; };
APT::Sandbox::User "root";
APT::Get::List-Cleanup "0";
Acquire::Languages "none";
Acquire::Retries "3";
Dir::Etc::sourcelist "%[1]s/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "%[1]s";
Dir::State::status "%[1]s/status";
Dir::Cache "%[1]s/cache";
Dir::Log "%[1]s/log";
`, a.dir, strings.TrimSpace(out))
	for name, text := range map[string]string{"status": "", "sources.list": line, "apt.conf": conf} {
		// 0600: an archive address may contain a password.
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
	}
	return nil
}

var networkSetting = regexp.MustCompile(`(?m)^Acquire::(?:[a-z+]*https?|ftp|ForceIPv[46]|Max-ValidTime|Check-Valid-Until|By-Hash)\b.*;$`)

// networkSettings copies proxies and the like from the system's configuration. The rest is
// left behind, above all hooks that clean the system's caches after each run.
func (a *apt) networkSettings(ctx context.Context) (string, error) {
	out, err := run(ctx, command(ctx, append(os.Environ(), "LC_ALL=C"), "apt-config", "dump"))
	if err != nil {
		return "", err
	}
	lines := networkSetting.FindAllString(out, -1)
	return strings.Join(append(lines, ""), "\n"), nil
}

func (a *apt) env() []string {
	return append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", "APT_CONFIG="+filepath.Join(a.dir, "apt.conf"))
}

func (a *apt) run(ctx context.Context, dir, tool string, args ...string) (string, error) {
	cmd := command(ctx, a.env(), tool, args...)
	cmd.Dir = dir
	return run(ctx, cmd)
}

// update fetches the suite's package lists.
func (a *apt) update(ctx context.Context) error {
	stop := every(2*time.Second, func() {
		a.p.say("reading the package lists of %s: %s", a.suite, megabytes(treeSize(filepath.Join(a.dir, "lists"))))
	})
	defer stop()
	a.p.say("reading the package lists of %s", a.suite)
	_, err := a.run(ctx, a.dir, "apt-get", "-qq", "-o", "APT::Update::Error-Mode=any", "update")
	return err
}

// vectorPackage is a pgvector package of a suite.
type vectorPackage struct {
	name    string
	major   int
	version string // upstream version of pgvector
}

var vectorName = regexp.MustCompile(`^postgresql-(\d+)-pgvector$`)

// pick returns the package for the newest PostgreSQL, or for the wanted one.
func (a *apt) pick(ctx context.Context, want int) (vectorPackage, error) {
	out, err := a.run(ctx, a.dir, "apt-cache", "search", "--names-only", `^postgresql-[0-9]+-pgvector$`)
	if err != nil {
		return vectorPackage{}, err
	}
	var best vectorPackage
	for line := range strings.Lines(out) {
		name, _, _ := strings.Cut(line, " ")
		m := vectorName.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		major, _ := strconv.Atoi(m[1])
		if major < MinPostgres || major <= best.major || want != 0 && major != want {
			continue
		}
		show, err := a.run(ctx, a.dir, "apt-cache", "show", "--no-all-versions", name)
		if err != nil {
			return vectorPackage{}, err
		}
		if version := packageVersion(show); newEnough(version) {
			best = vectorPackage{name: name, major: major, version: version}
		}
	}
	if best.major == 0 {
		return best, fmt.Errorf("embedded: %s %s has no fitting PostgreSQL with pgvector %d.%d or newer", a.release.id, a.suite, minVectorMajor, minVectorMinor)
	}
	return best, nil
}

var versionField = regexp.MustCompile(`(?m)^Version: (?:\d+:)?([0-9.]+)`)

func packageVersion(show string) string {
	m := versionField.FindStringSubmatch(show)
	if m == nil {
		return ""
	}
	return m[1]
}

var printedURI = regexp.MustCompile(`(?m)^'[^']*' ([^_ ]+)_\S* (\d+)`)

// download fetches a package and what it needs at run time into debs. apt checks signatures
// and hashes.
func (a *apt) download(ctx context.Context, names ...string) error {
	args := append([]string{"-qq", "-y", "--print-uris", "--no-install-recommends", "install"}, names...)
	out, err := a.run(ctx, a.dir, "apt-get", args...)
	if err != nil {
		return err
	}
	get := []string{"-qq", "download"}
	var total int64
	for _, m := range printedURI.FindAllStringSubmatch(out, -1) {
		if needless(m[1]) {
			continue
		}
		size, _ := strconv.ParseInt(m[2], 10, 64)
		total += size
		get = append(get, m[1])
	}
	debs := filepath.Join(a.dir, "debs")
	a.p.say("downloading %d packages, %s", len(get)-2, megabytes(total))
	stop := every(2*time.Second, func() {
		a.p.say("downloaded %s of %s", megabytes(treeSize(debs)), megabytes(total))
	})
	defer stop()
	_, err = a.run(ctx, debs, "apt-get", get...)
	return err
}

// needless reports packages that the server does not use at run time: maintainer scripts and
// their interpreter, the compiler behind jit, translations.
func needless(name string) bool {
	for _, prefix := range []string{
		"libllvm", "libz3", "perl", "libperl", "locales", "libc-l10n", "postgresql-common",
		"postgresql-client-common", "debconf", "cdebconf", "libdebconf", "adduser", "passwd", "ucf",
		"sensible-utils", "ssl-cert", "openssl", "netbase", "init-system-helpers", "libjson-perl",
		"tzdata", "sysvinit", "logrotate",
	} {
		if strings.HasPrefix(name, prefix) && name != "openssl-provider-legacy" {
			return true
		}
	}
	return false
}
