// Package drivertest judges retrieval drivers: it is the conformance kit that every driver
// passes before a kernel should rank by it. A host calls [Run] from a test of its own:
//
//	func TestConformance(t *testing.T) {
//		drivertest.Run(t, func(testing.TB) driver.Driver { return mydriver.New() })
//	}
//
// or, without writing a test, runs the command on the driver's package:
//
//	go run github.com/memkernel/memkernel/driver/drivertest/cmd/drivertest ./mydriver
//
// # What is judged
//
// The driver is registered with a real kernel on a database of its own (package kerneltest) and
// ranks what the kernel's own views show, so that it is judged by what it will meet in production.
// Between the two stands a view that counts, remembers what it showed and fails on demand. Each
// group is a subtest of its name, has a database of its own and takes new drivers from the factory.
//
//   - imports: neither the driver's package nor what it imports reaches a database, the network,
//     other programs or plugins; its own module's packages do not use the file system, system
//     calls, reflection, unsafe, cgo, assembly or go:linkname. Files of other build
//     configurations count. [AllowImport] declares an exception, such as net/http for a driver
//     that asks another process.
//   - scope: asked by callers of several namespaces and tenants in turn and at once, over canaries
//     in the sibling, the descendant, the namespace whose name begins alike and the other tenant,
//     each closer to the question than anything visible, and over memories that have ended, the
//     driver never proposes what its caller may not see.
//   - determinism: a hundred calls with the same view and query, one after another, in between other
//     queries, many at once and by two drivers of the factory, give the same plan to the last bit.
//   - budget: at most K items; not over the token budget, except by the first item alone; no limit
//     below zero; no more calls of the view than it answers; and a prompt return when the call is
//     cancelled or its time is over while the view is waited for.
//   - shape: a constant, valid name; refs that this view has shown, each once; finite scores, best
//     first; a plan that does not change once returned; and no use of a view after its call.
//   - resilience: the embedder down, either arm or both failing, a cancelled call, an empty
//     memory, hostile queries: no panic, no goroutine left behind, and never an empty plan without
//     an error where something was down.
//
// A group that a driver cannot pass for a good reason is opted out of with [OptOut]. Its subtest is
// then skipped with the reason, never passed in silence.
//
// What the kit cannot do: a driver in the host's process is trusted code. One that behaves only
// while it is tested, or that is built for another system with other files of another module, is
// not found out. Nothing in this package is for production.
package drivertest
