package fusion

import "time"

// Window is the time that a text names.
func Window(text string) (from, to time.Time, ok bool) { return window(text) }
