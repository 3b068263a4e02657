package main

import (
	"testing"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/drivertest"
)

// TestConformance has the kit for drivers judge the program's own.
func TestConformance(t *testing.T) {
	t.Parallel()
	for n, d := range own() {
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			drivertest.Run(t, func(testing.TB) driver.Driver { return own()[n] },
				drivertest.OptOut(drivertest.Imports, "the drivers are in the program's package, which opens the kernel"))
		})
	}
}
