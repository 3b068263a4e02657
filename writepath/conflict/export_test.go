package conflict

// ParseAnswer is for the fuzzer.
func ParseAnswer(answer []byte, asked []int) (map[int]Verdict, error) {
	return parseAnswer(answer, asked)
}
