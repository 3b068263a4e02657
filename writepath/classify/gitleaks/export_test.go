package gitleaks

// Pieces returns where each piece of a text begins and ends.
func Pieces(text string) (all [][2]int) {
	for start, end := range pieces(text) {
		all = append(all, [2]int{start, end})
	}
	return all
}
