// Package dialer is a driver that would ask the network.
package dialer

import (
	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/baseline"
	"github.com/memkernel/memkernel/driver/drivertest/testdata/dialer/hidden"
)

// Driver is the baseline and more.
type Driver struct{ driver.Driver }

// New returns the driver.
func New() *Driver {
	_ = hidden.Dial
	return &Driver{baseline.New()}
}
