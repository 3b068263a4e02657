// Package jobs runs background work on River, whose tables are in the kernel's schema. It
// knows how jobs are kept, handed out and given up, not what they do: the kernel supplies
// that, one function for each kind of job.
//
// Arguments of jobs hold ids and never content: what a job is about is read when it runs, so
// that an erasure finds nothing here. For the same reason no error of a function reaches
// River's tables, which keep the errors of each attempt; see [Client].
package jobs
