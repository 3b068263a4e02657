// Package archtest holds the tests that keep the module's shape: who may import whom, what
// may be reached, who sends SQL, what the public API may name, and a few house rules.
//
// The tables in rules_test.go are the design written down. A new package needs a row there,
// and that is on purpose: each one is a decision. A wall is never widened to get a change
// through. testdata/planted.txtar holds a small module that breaks every rule; the test over
// it shows that each rule can fail. The package has no code of its own and must never get any.
package archtest
