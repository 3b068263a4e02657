//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// buildTree downloads and unpacks packages below a.dir/root and makes their programs
// runnable there. It returns the name the finished tree should get.
func buildTree(ctx context.Context, a *apt, want int) (string, error) {
	if err := a.configure(ctx); err != nil {
		return "", err
	}
	if err := a.update(ctx); err != nil {
		return "", err
	}
	pkg, err := a.pick(ctx, want)
	if err != nil {
		return "", err
	}
	if err := a.download(ctx, pkg.name, "libnss-wrapper"); err != nil {
		return "", err
	}
	debs, _ := filepath.Glob(filepath.Join(a.dir, "debs", "*.deb"))
	a.p.say("unpacking %d packages", len(debs))
	root := filepath.Join(a.dir, "root")
	for _, deb := range debs {
		if _, err := a.run(ctx, a.dir, "dpkg", "-x", deb, root); err != nil {
			return "", err
		}
	}
	if err := prune(root); err != nil {
		return "", err
	}
	if err := wrapPrograms(root); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s-%s-pg%d-pgvector%s", a.release.id, a.suite, pkg.major, pkg.version), nil
}

// prune removes what nobody reads here, half of the tree.
func prune(root string) error {
	patterns := []string{
		"etc", "var", "usr/sbin", "usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info",
		"usr/share/perl", "usr/share/perl5", "usr/share/lintian", "usr/share/bug",
		"usr/lib/postgresql/*/lib/bitcode", "usr/lib/postgresql/*/lib/llvmjit*", "usr/lib/*/gconv",
		"usr/lib/systemd", "usr/share/postgresql/*/man",
	}
	for _, pattern := range patterns {
		found, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, path := range found {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("embedded: %w", err)
			}
		}
	}
	// As found in the archive, whatever the umask was.
	if err := os.Chmod(root, 0o755); err != nil { //nolint:gosec // the server's account must enter
		return fmt.Errorf("embedded: %w", err)
	}
	return nil
}

// wrapPrograms replaces each program of PostgreSQL with a script that starts it with the
// tree's own loader and libraries. The script finds the tree by its own place, so a tree may
// be moved; initdb and pg_ctl call postgres by its full path, which the script keeps as
// argv[0].
func wrapPrograms(root string) error {
	lib, loader, err := findLoader(root)
	if err != nil {
		return err
	}
	bins, _ := filepath.Glob(filepath.Join(root, treeBinPattern, "*"))
	for _, bin := range bins {
		dir, name := filepath.Split(bin)
		if fi, err := os.Stat(bin); err != nil || !fi.Mode().IsRegular() || !isELF(bin) {
			continue
		}
		rel, err := filepath.Rel(dir, filepath.Join(root, lib))
		if err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
		if err := os.Rename(bin, filepath.Join(dir, "."+name+".elf")); err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
		script := fmt.Sprintf(`#!/bin/sh
b=$(cd "${0%%/*}" && pwd -P) && l=$(cd "$b/%s" && pwd -P) || exit 127
exec "$l/%s" --argv0 "$b/%s" --library-path "$l" ${MEMKERNEL_PRELOAD:+--preload "$MEMKERNEL_PRELOAD"} "$b/.%s.elf" "$@"
`, rel, loader, name, name)
		if err := os.WriteFile(bin, []byte(script), 0o755); err != nil { //nolint:gosec // a program
			return fmt.Errorf("embedded: %w", err)
		}
		if err := os.Chmod(bin, 0o755); err != nil { //nolint:gosec // a program
			return fmt.Errorf("embedded: %w", err)
		}
	}
	return nil
}

// findLoader returns the directory of the C library below root, and the loader's name in it.
func findLoader(root string) (lib, loader string, err error) {
	for _, pattern := range []string{"usr/lib/*/libc.so.6", "lib/*/libc.so.6"} {
		found, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, libc := range found {
			dir := filepath.Dir(libc)
			for _, name := range []string{"ld-linux*.so.*", "ld64.so.*", "ld.so.*"} {
				if ld, _ := filepath.Glob(filepath.Join(dir, name)); len(ld) > 0 {
					rel, err := filepath.Rel(root, dir)
					return rel, filepath.Base(ld[0]), err
				}
			}
		}
	}
	return "", "", errors.New("embedded: the packages contain no C library")
}

func isELF(path string) bool {
	f, err := os.Open(path) //nolint:gosec // a file we unpacked
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	magic := make([]byte, 4)
	_, err = f.Read(magic)
	return err == nil && string(magic) == "\x7fELF"
}

// treeWrapper returns the libnss_wrapper.so beside an installation in lib/postgresql/N/bin,
// "" if there is none.
func treeWrapper(dir string) string {
	found, _ := filepath.Glob(filepath.Join(dir, "..", "..", "..", "*", "libnss_wrapper.so"))
	if len(found) == 0 {
		return ""
	}
	return filepath.Clean(found[0])
}
