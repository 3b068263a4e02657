//go:build neverbuilt

package peeping

import "C"
