package console

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes a report for programs.
func WriteJSON(out io.Writer, report any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(report); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
