// Package honest is a driver whose constructor can fail, and whose tests do not compile.
package honest

import (
	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/baseline"
)

// Driver is the baseline.
type Driver struct{ driver.Driver }

// New returns the driver.
func New() (*Driver, error) { return &Driver{baseline.New()}, nil }
