// Package fusion is the ranking that merges words and vectors by how far each of them can be
// trusted for the question at hand. It asks no model but the kernel's embedder, keeps nothing
// between calls and holds no knowledge of any language but the names of months.
//
// # What it does
//
// It takes every row that has a word of the question, up to the view's limit, and the rows
// nearest to the question's vector, and scores each in four steps.
//
// Each arm alone. x is a row's BM25 over the best row's, squared: half the score of the best is
// a quarter of the evidence, because the words that all the good rows share are the cheap ones.
// y is a row's cosine between that of the last row the vector arm returned, 0, and the best, 1.
//
// The arms together. A row gets (1-a)·x + a·y, so that rows both arms agree on come first. The
// vector arm's share a is the [Trust] in its embedder, shifted towards the arm whose best row
// stands out more from its own first rows:
//
//	a = min(1, 2·trust·v/(v+w))
//
// where v and w are how many standard deviations the best row of the vector arm and of the
// lexical arm lies above the mean of that arm's first 50. A word that few rows have makes w
// large, which is how the rarity of the question's words counts; words that every row has make it
// small.
//
// Rows written next to each other. What was said before and after belongs to what was said: a row
// also gets 0.50 of the row written before it and 0.35 of the one after, 0.25 and 0.175 of the
// next but one, halved again for every further median step between the times of two rows of the
// pool, so that rows of another day lend nothing. That is worth a great deal in conversations and
// harm where rows have nothing to do with each other; so all of it is scaled by how far the scores
// of neighbours in the pool do go together, which is measured for every question: by g = r/0.1,
// at least 0 and at most 1, where r is the autocorrelation of the square roots of the scores, one
// row apart and, half as much, two rows apart. Shuffled rows have an r about 0, the turns of a
// conversation one about 0.2. References are ordered by time (RFC 9562), so this needs no further
// reading.
//
// Rows that say little. A score is multiplied by the root of the row's size over the pool's mean
// size, at most twice that: a row of three words must not live on what its neighbours say.
//
// If the question names a day or a month with its year, rows of that time, a day more on either
// side, get half of the best score on top. See window for how dates may be written.
//
// # Where the constants come from
//
// They were chosen on the questions about five conversations of LoCoMo (997 questions, each
// conversation a memory of its own of some 590 turns) with the hashing embedder, for the share of
// the evidence among the first ten turns, and rounded. The optimum is flat: halving or doubling any
// one of them costs less than 0.02. On the 985 questions about the other five conversations the
// share is 0.749; BM25 alone has 0.631, the best merge with fixed weights 0.631 and the baseline
// 0.576. With the turns in random order, so that neighbours mean nothing, it is 0.647, and with all
// ten conversations in one memory 0.717 where BM25 has 0.571. What each step brings, on the first
// five, by how much less there is without it: neighbours 0.11, dates 0.02, squares 0.015, sizes
// 0.01, the hashing embedder's vectors nothing.
//
// Trust in embedders that know meaning was set without one at hand, on cosines made up with known
// quality and noise: over a range of qualities the merge by spread did better than any fixed share.
//
// # What it cannot do
//
// It finds no row that has no word of the question and is not near by the embedder, whatever stands
// next to it: neighbours are looked for in the pool. Rows that were written at the same microsecond
// are in no order, and rows of several conversations written at the same time lend to each other. It
// understands no relative time ("last week": it has no clock) and no date without a year. It
// does not look at what a row says, whose it is or of what kind.
package fusion
