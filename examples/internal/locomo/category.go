package locomo

import "strconv"

// Category returns what the number of a category means, which the data set does not say; its
// authors' own evaluation does, by the way it scores them. The paper lists the categories in
// another order. A number that is none of theirs stands for itself.
func Category(number int) string {
	names := map[int]string{
		1: "multi-hop", // the answer is in several sessions
		2: "temporal",
		3: "open-domain", // it takes knowledge of the world as well
		4: "single-hop",
		5: "adversarial", // it cannot be answered: the evidence only seems to
	}
	if name, ok := names[number]; ok {
		return name
	}
	return "category " + strconv.Itoa(number)
}
