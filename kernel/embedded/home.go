package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// dataHome is where the current user's programs keep data that must not be lost. It is not
// the cache directory: caches are deleted without asking.
func dataHome() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib", nil
	}
	if runtime.GOOS == "darwin" {
		dir, err := os.UserConfigDir() // ~/Library/Application Support
		if err != nil {
			return "", errNoHome
		}
		return dir, nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil || home == "/" {
		return "", errNoHome
	}
	return filepath.Join(home, ".local", "share"), nil
}

var errNoHome = errors.New("the current user has no home directory")

// cacheHome is where provisioned binaries are kept. A user without a home gets a directory
// of his own in the temporary directory; prepareCache refuses it if somebody else made it.
func cacheHome() string {
	if os.Geteuid() == 0 {
		return systemCache
	}
	if home := os.Getenv("HOME"); home != "/" || os.Getenv("XDG_CACHE_HOME") != "" {
		if dir, err := os.UserCacheDir(); err == nil {
			return filepath.Join(dir, "memkernel")
		}
	}
	return filepath.Join(os.TempDir(), "memkernel-cache-"+strconv.Itoa(os.Geteuid()))
}

// systemCache is root's cache. Other users may use what root has provisioned there.
const systemCache = "/var/cache/memkernel"
