package embedded

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// aptSource is one archive from apt's configuration.
type aptSource struct {
	uri        string
	suites     []string
	components []string
	signedBy   string // path of a keyring, "" if none is named
}

// readSources reads apt's source files below etc, which is /etc/apt. They are read directly
// because apt itself knows no archive before its first update, which needs root.
func readSources(etc string) []aptSource {
	list, _ := filepath.Glob(filepath.Join(etc, "sources.list.d", "*.list"))
	deb822, _ := filepath.Glob(filepath.Join(etc, "sources.list.d", "*.sources"))
	var sources []aptSource
	for _, name := range deb822 {
		if text, err := os.ReadFile(name); err == nil { //nolint:gosec // apt's own configuration
			sources = append(sources, parseDeb822(string(text))...)
		}
	}
	for _, name := range append([]string{filepath.Join(etc, "sources.list")}, list...) {
		if text, err := os.ReadFile(name); err == nil { //nolint:gosec // apt's own configuration
			sources = append(sources, parseOneLine(string(text))...)
		}
	}
	return sources
}

// parseDeb822 reads stanzas of "Key: value" with indented continuation lines.
func parseDeb822(text string) []aptSource {
	var sources []aptSource
	fields := map[string]string{}
	key := ""
	end := func() {
		if slices.Contains(strings.Fields(fields["types"]), "deb") && !strings.EqualFold(fields["enabled"], "no") {
			keyring := fields["signed-by"]
			if !strings.HasPrefix(keyring, "/") || strings.ContainsAny(keyring, " \t") {
				keyring = "" // a key written out in place, or several
			}
			for _, uri := range strings.Fields(fields["uris"]) {
				sources = append(sources, aptSource{uri, strings.Fields(fields["suites"]), strings.Fields(fields["components"]), keyring})
			}
		}
		fields, key = map[string]string{}, ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			end()
		case line[0] == ' ' || line[0] == '\t':
			if key != "" {
				fields[key] = strings.TrimSpace(fields[key] + " " + strings.TrimSpace(line))
			}
		default:
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				continue
			}
			key = strings.ToLower(strings.TrimSpace(name))
			fields[key] = strings.TrimSpace(value)
		}
	}
	end()
	return sources
}

var oneLine = regexp.MustCompile(`^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s*(.*)$`)

// parseOneLine reads lines like "deb [signed-by=/path] URI suite component...".
func parseOneLine(text string) []aptSource {
	var sources []aptSource
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		m := oneLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		s := aptSource{uri: m[2], suites: []string{m[3]}, components: strings.Fields(m[4])}
		for _, option := range strings.Fields(m[1]) {
			if keyring, ok := strings.CutPrefix(option, "signed-by="); ok && strings.HasPrefix(keyring, "/") && !strings.Contains(keyring, ",") {
				s.signedBy = keyring
			}
		}
		sources = append(sources, s)
	}
	return sources
}

// distributionSource picks the archive of the distribution itself: it serves the running
// release's suite with component main. Other vendors' archives do so too, so one signed by
// the distribution's keyring, or whose path is the distribution's name, goes first.
func distributionSource(sources []aptSource, r osRelease) (aptSource, bool) {
	best, bestScore := aptSource{}, 0
	for _, s := range sources {
		if !slices.Contains(s.components, "main") || !slices.ContainsFunc(s.suites, func(suite string) bool {
			return suite == r.codename || suite == "stable" || suite == "testing" || suite == "sid" || suite == "unstable"
		}) {
			continue
		}
		score := 0
		if strings.Contains(s.signedBy, r.id+"-archive-keyring") {
			score += 2
		}
		if base := path.Base(strings.TrimRight(s.uri, "/")); base == r.id || strings.HasPrefix(base, r.id+"-") || strings.HasPrefix(base, r.id+".") {
			score++
		}
		if score > bestScore {
			best, bestScore = s, score
		}
	}
	return best, bestScore > 0
}

// suitesFor lists the suites to try, best first: the running release if its pgvector is new
// enough, else the oldest release whose is. Programs of a newer release run here because
// they are started with that release's own loader and libraries.
func suitesFor(r osRelease) []string {
	switch {
	case r.id == "debian" && r.atLeast(13, 0), r.id == "ubuntu" && r.atLeast(25, 4):
		return []string{r.codename}
	case r.id == "debian":
		return []string{"trixie"}
	case r.id == "ubuntu":
		return []string{"resolute"}
	}
	return nil
}

// keyringFor returns the keyring to verify the archive with, "" for apt's default ones.
func keyringFor(s aptSource, r osRelease) string {
	candidates := []string{
		s.signedBy,
		"/usr/share/keyrings/" + r.id + "-archive-keyring.gpg",
		"/usr/share/keyrings/" + r.id + "-archive-keyring.pgp",
	}
	for _, file := range candidates {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}
