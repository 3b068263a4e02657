package acl

// Range returns the one idiom for "n or anything below it" in SQL: a path p is in the
// subtree exactly if p = exact, or from <= p and p < to, compared byte by byte. No character
// of a path has a special meaning in it. "0" follows "/" in ASCII.
func (n Namespace) Range() (exact, from, to string) {
	return n.path, n.path + "/", n.path + "0"
}
