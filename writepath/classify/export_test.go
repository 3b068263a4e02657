package classify

import "strings"

// Shapes returns the patterns of the table of shapes with their kinds.
func Shapes() [][2]string {
	var all [][2]string
	for line := range strings.Lines(shapeTable) {
		kind, patterns, _ := strings.Cut(strings.TrimSpace(line), " ")
		for p := range strings.FieldsSeq(patterns) {
			all = append(all, [2]string{kind, p})
		}
	}
	return all
}
