package drivertest_test

import (
	"testing"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/baseline"
	"github.com/memkernel/memkernel/driver/drivertest"
)

// A host's test of its own driver. Here the driver is the baseline.
func ExampleRun() {
	// In a file of the driver's package, say conformance_test.go:
	TestConformance := func(t *testing.T) {
		t.Helper()
		drivertest.Run(t, func(testing.TB) driver.Driver { return baseline.New() })
	}
	_ = TestConformance
}

// A driver that asks an engine in another process, whose answers change while it learns.
func ExampleOptOut() {
	TestConformance := func(t *testing.T) {
		t.Helper()
		drivertest.Run(t, func(testing.TB) driver.Driver { return baseline.New() },
			drivertest.AllowImport("net/http", "the engine is another process"),
			drivertest.OptOut(drivertest.Determinism, "the engine learns from what it is asked"))
	}
	_ = TestConformance
}
