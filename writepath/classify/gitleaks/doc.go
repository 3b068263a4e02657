// Package gitleaks lets the kernel find secrets by the rules of gitleaks
// (https://github.com/gitleaks/gitleaks), over 200 of them, beside those of package classify:
//
//	scanner, err := gitleaks.New(gitleaks.Config{})
//	...
//	k, err := kernel.Open(pool, kernel.WithClassifier(scanner))
//
// It works in the process, without a file, a variable of the environment, a network or the log
// of gitleaks, and must never keep or print a text. Everything it finds is a secret; nothing is
// asked of a service to see whether a key works.
//
// # What it costs
//
// It is a module of its own, so that nothing of this reaches a host that does not import it. It
// is pinned to gitleaks v8.30.1. With it, go list -m all names 224 modules for a host of the
// kernel instead of 36; packages of 81 instead of 21 are compiled, which adds 8 MB to a program.
// A Scanner keeps 14 MB and takes some 60 ms to make.
//
// A scan takes 0.5 to 4 times as long as the built-in classifier on prose, and 6 to 18 times if
// the text has secrets in it or words that rules look for, like key and token: for 200 bytes
// from 10 µs to 0.2 ms (BenchmarkScan). The time grows with the length of the text, not with its
// square; a megabyte that is made to be slow takes several seconds (BenchmarkHostile). The
// kernel bounds it by Limits.ModelTimeout, and a text that takes longer is not stored.
//
// # How it differs from the command
//
// A source file may excuse a line of itself with gitleaks:allow. A text may not, nor do the
// default rules' lists apply that excuse a value for what else is on its line.
//
// Many rules expect a secret to end as in source code, with white space, a quote or a semicolon.
// A secret with a shape of its own is found before the comma or full stop of a sentence too.
//
// A value of at least 8 bytes that was found in one place is found wherever it stands in the
// text. Where gitleaks takes a part of a secret for all of it, all of it is meant here.
//
// Rules that want a name of a file find nothing, and nothing is decoded: what is in base64 is
// found only by rules for it. A text longer than 64 KiB is scanned in pieces that overlap, so of
// a secret longer than 15 KiB a part may be missed.
//
// # Kinds
//
// A finding has the kind of its service, or classify.SaaSToken. One of a host's own rule has the
// kind that the rule's id names, with - for _, if that is a kind of secret, or that of the
// service with which the id begins; otherwise it is a classify.APIKey.
package gitleaks
