// Package sidecar asks a retrieval engine in another process, over HTTP and JSON, how to rank what a
// caller may see. The engine can be written in any language and learns nothing else: no tenant,
// caller, namespace or key, and no text whose classification keeps it from the engine's destination.
// It answers with refs and scores; the kernel serves its own text, drops refs that were not sent and
// records the attempt.
//
// # The protocol
//
// For each search one POST goes to the configured address, of type application/json, with
// Authorization: Bearer and the token if there is one. A search that has no candidates asks nothing.
// The request:
//
//	{
//	  "version": 1,
//	  "query": {"text": "Who has the pager?", "k": 5, "tokenBudget": 800},
//	  "candidates": [
//	    {"ref": "019c9a2e-7c00-7abc-8def-0123456789ab", "tokens": 9, "bm25": 2.31, "cosine": 0.44,
//	     "text": "Dana has the pager this week.", "kind": "fact",
//	     "eventTime": "2026-03-02T09:15:00Z", "assertionTime": "2026-03-02T09:15:04Z"},
//	    {"ref": "019c9a2e-7c01-7abc-8def-0123456789ab", "tokens": 12, "cosine": 0.31, "textWithheld": true}
//	  ]
//	}
//
// tokenBudget is absent if there is none, bm25 and cosine where that arm did not find the row, and
// eventTime where it is not known. Of a row whose text may not go to the engine only its ref, its
// size and its scores are sent. A ref is the memory's id: the same in every search, and it holds
// the time at which the memory was stored. Engines ignore fields that they do not know; a version
// that they do not know they refuse with status 400.
//
// The response has status 200, type application/json, and at most 10,000 items, in any order:
//
//	{"items": [{"ref": "019c9a2e-7c00-7abc-8def-0123456789ab", "score": 0.93}]}
//
// Every item has a ref, each at most once, and a finite score, higher for better. Rows may be left
// out, but not all of them: to have been asked and to know nothing is a failure, and not an empty
// memory. K and the token budget are kept by the driver; an engine can use them to think less. Other
// fields are an error, as is whatever else is not of this form. The same request should have the same
// response.
//
// # Failures
//
// Whatever fails, the search goes on by the baseline and says so. Status 429 and 5xx, a connection
// that is refused or breaks and a response that is late wrap mem.ErrUnavailable, which opens the
// kernel's breaker; any other status, redirects among them, and a response of the wrong form do not.
// No error holds a text, the token, or a word of the response.
package sidecar
