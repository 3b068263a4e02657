package embedded

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

const (
	// Role is the name of the cluster's superuser, the only role that exists at first.
	Role = "memkernel"
	// Database is the database that [Server.ConnString] names: the one initdb creates. The
	// cluster is private, so there is nothing to keep it apart from.
	Database = "postgres"

	// MinPostgres is the oldest major version of PostgreSQL that is accepted.
	MinPostgres = 15
	// minVector is the oldest accepted version of pgvector, major and minor.
	minVectorMajor, minVectorMinor = 0, 7
)

// Config says where a server lives and how it is started. The zero value is usable: the
// default cluster of the current user, binaries from wherever they are found, provisioned
// if need be.
type Config struct {
	// Dir is the cluster's own directory. It holds the data, the lock files, the log and, if
	// its path is short enough, the socket. It is created if missing, and set to mode 0700
	// (0711 for root). An existing directory must belong to the current user, and must be
	// empty or an earlier cluster. Default: memkernel/postgres/default below the user's data
	// directory, below /var/lib for root. With Ephemeral the default is a new temporary
	// directory.
	Dir string

	// BinDir is the directory of the PostgreSQL binaries to use. If it is set, no other place
	// is searched and nothing is provisioned.
	BinDir string

	// CacheDir is where provisioned binaries are kept and looked for. Default: memkernel
	// below the user's cache directory, below /var/cache for root (root's own home is
	// usually closed to the unprivileged user that the server runs as).
	CacheDir string

	// NoProvision forbids downloading. If no binaries are found, Start returns a
	// [MissingError] that names the command to run.
	NoProvision bool

	// Ephemeral makes the cluster a throw-away one: no fsync, and Dir is removed on Close.
	// What killed processes left of temporary clusters is removed by a later ephemeral Start.
	// Dir, if set, must be empty, missing, or an earlier ephemeral cluster.
	Ephemeral bool

	// User is the account the server runs as when the current user is root. Default: the
	// owner of an existing cluster, else the first existing of memkernel, postgres and nobody.
	// It is ignored for other users: their server runs as themselves.
	User string

	// Settings are added to the server's configuration and win over this package's choices,
	// for example {"shared_buffers": "1GB"}. Names that decide who can connect and where the
	// files are cannot be set.
	Settings map[string]string

	// Progress receives what provisioning does: stages, packages, bytes, elapsed time.
	// Nothing is written when nothing is provisioned. Default: os.Stderr; use io.Discard for
	// silence.
	Progress io.Writer
}

// reservedSettings are decided by this package: another value would open the server to
// other users or take its files out of the directory that is locked.
func reservedSetting(name string) bool {
	switch name {
	case "listen_addresses", "port", "unix_socket_directories", "unix_socket_permissions",
		"unix_socket_group", "data_directory", "hba_file", "ident_file", "config_file",
		"external_pid_file":
		return true
	}
	return false
}

var settingName = regexp.MustCompile(`^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$`)

func (c Config) validate() error {
	for name := range c.Settings {
		if !settingName.MatchString(name) {
			return fmt.Errorf("embedded: setting %q is not a lower-case parameter name", name)
		}
		if reservedSetting(name) {
			return fmt.Errorf("embedded: setting %q is decided by this package", name)
		}
	}
	return nil
}

func (c Config) withDefaults() (Config, error) {
	if c.Progress == nil {
		c.Progress = os.Stderr
	}
	var err error
	if c.Dir == "" && !c.Ephemeral {
		base, err := dataHome()
		if err != nil {
			return c, fmt.Errorf("embedded: no default for Config.Dir: %w", err)
		}
		c.Dir = filepath.Join(base, "memkernel", "postgres", "default")
	}
	if c.Dir != "" {
		if c.Dir, err = filepath.Abs(c.Dir); err != nil {
			return c, fmt.Errorf("embedded: Config.Dir: %w", err)
		}
	}
	if c.CacheDir == "" {
		c.CacheDir = cacheHome()
	}
	if c.CacheDir, err = filepath.Abs(c.CacheDir); err != nil {
		return c, fmt.Errorf("embedded: Config.CacheDir: %w", err)
	}
	return c, nil
}
