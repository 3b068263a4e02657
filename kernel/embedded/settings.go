package embedded

import (
	"maps"
	"slices"
	"strings"
)

// configuration returns the text of postgresql.conf. It is written at every start, so that
// a change of Config takes effect.
func configuration(cfg Config, data, hba, ident, socketDir string) string {
	settings := map[string]string{
		"listen_addresses":        "",
		"port":                    socketPort,
		"unix_socket_directories": socketDir,
		"unix_socket_permissions": "0700",
		"data_directory":          data,
		"hba_file":                hba,
		"ident_file":              ident,

		"max_connections": "100",
		"shared_buffers":  "128MB",
		"max_wal_size":    "1GB",
		"jit":             "off", // short queries: compiling costs more than it gains, and LLVM is not provisioned
		"ssl":             "off",
		"timezone":        "GMT", // built in; other zones need files that may not be installed
		"lc_messages":     "C",

		// Error messages and failing statements carry memory text, so only what the server
		// says about itself is logged.
		"logging_collector":                 "off",
		"log_destination":                   "stderr",
		"log_min_messages":                  "log",
		"log_min_error_statement":           "panic",
		"log_error_verbosity":               "terse",
		"log_parameter_max_length":          "0",
		"log_parameter_max_length_on_error": "0",
		"log_timezone":                      "GMT",
		"log_line_prefix":                   "%m [%p] ",
	}
	if smallSharedMemory() {
		settings["dynamic_shared_memory_type"] = "mmap"
	}
	if cfg.Ephemeral {
		settings["fsync"] = "off"
		settings["full_page_writes"] = "off"
		settings["synchronous_commit"] = "off"
		settings["wal_level"] = "minimal"
		settings["max_wal_senders"] = "0"
	}
	maps.Copy(settings, cfg.Settings)

	var b strings.Builder
	b.WriteString("# Written at every start by package embedded; changes belong in Config.Settings.\n")
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		b.WriteString(name + " = " + quote(settings[name]) + "\n")
	}
	return b.String()
}

// quote writes a value as PostgreSQL's configuration parser reads it. A line break cannot be
// written in it; it becomes a space.
func quote(v string) string {
	v = strings.NewReplacer(`\`, `\\`, `'`, `''`, "\n", " ", "\r", " ").Replace(v)
	return "'" + v + "'"
}

// hostBased is the whole of pg_hba.conf; the package comment says why this is safe. The
// second line lets pg_basebackup in.
const hostBased = "local all all trust\nlocal replication all trust\n"
