package conflict

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// negated reports that one of two sentences is the other with "not" put into it, and that both
// cannot be true at one time. It proves that for one shape only: somebody's or something's
// name, then is, has or a verb with its -s, then words none of which could let both be true.
// Left out on purpose: the past (of which there is more than one moment), plurals ("cats are
// black" and "cats are not black" can both hold of some), pronouns and descriptions (which may
// mean two things), possessives (she may have two dogs), conditions, hedges and words of time.
func negated(a, b sentence) bool {
	return negatedBy(a, b) || negatedBy(b, a)
}

// negatedBy reports that neg is pos with "not" in it.
func negatedBy(pos, neg sentence) bool {
	at := slices.Index(neg.lower, "not")
	if at < 2 || at == len(neg.lower)-1 || slices.ContainsFunc(pos.lower, loose) {
		return false
	}
	subject, aux, rest := neg.lower[:at-1], neg.lower[at-1], neg.lower[at+1:]
	if !named(neg, len(subject)) || len(pos.lower) <= len(subject) ||
		!slices.Equal(pos.lower[:len(subject)], subject) || !named(pos, len(subject)) {
		return false
	}
	said := pos.lower[len(subject):]
	switch aux {
	case "is", "has":
		return said[0] == aux && slices.Equal(said[1:], rest)
	case "does":
		// "She does not like a song" says nothing of the other songs; of "have" it does.
		return len(rest) > 1 && thirdPerson(rest[0], said[0]) && slices.Equal(said[1:], rest[1:]) &&
			(rest[0] == "have" || !slices.ContainsFunc(rest, article))
	default:
		return false
	}
}

// maxSubjectWords bounds a name.
const maxSubjectWords = 4

// named reports that the first n words name one thing: "the user", or words with a capital of
// which none is a pronoun or a possessive.
func named(s sentence, n int) bool {
	if n == 0 || n > maxSubjectWords {
		return false
	}
	if (n == 1 && s.lower[0] == "user") || (n == 2 && s.lower[0] == "the" && s.lower[1] == "user") {
		return true
	}
	for i, w := range s.words[:n] {
		first, _ := utf8.DecodeRuneInString(w)
		if !unicode.IsUpper(first) || pronoun(s.lower[i]) || slices.Contains([]rune(w), '\'') {
			return false
		}
	}
	return true
}

func article(w string) bool { return w == "a" || w == "an" }

// thirdPerson reports that verb is base with the -s of the third person.
func thirdPerson(base, verb string) bool {
	switch base {
	case "have":
		return verb == "has"
	case "be", "do":
		return false
	}
	if verb == base+"s" || verb == base+"es" {
		return true
	}
	n := len(base) - 1
	return n > 0 && base[n] == 'y' && verb == base[:n]+"ies"
}

// pronoun reports a word that means whoever was spoken of, or somebody unnamed.
func pronoun(w string) bool {
	switch w {
	case "i", "you", "he", "she", "it", "we", "they", "this", "that", "these", "those", "there", "here", "the", "a", "an",
		"who", "what", "which", "someone", "somebody", "something", "anyone", "anybody", "anything", "everyone",
		"everybody", "everything", "nobody", "nothing", "none", "one", "another", "my", "your", "his", "her", "its",
		"our", "their", "mine", "yours":
		return true
	default:
		return loose(w)
	}
}

// loose reports a word beside which a sentence and its negation can both be true, or say
// another thing than they seem to.
func loose(w string) bool {
	switch w {
	case "if", "when", "whenever", "unless", "until", "till", "while", "because", "since", "although", "though", "but",
		"or", "and", "either", "neither", "nor", "whether", "except", "without", "before", "after", "during",
		"some", "any", "all", "every", "each", "most", "many", "few", "several", "both", "other", "another", "one",
		"only", "just", "even", "also", "too", "as", "than", "quite", "very", "really", "always", "usually", "often",
		"sometimes", "rarely", "never", "ever", "no", "not", "none", "nothing", "necessarily", "enough", "merely",
		"today", "tonight", "yesterday", "tomorrow", "now", "currently", "yet", "still", "already", "anymore", "again",
		"soon", "later", "may", "might", "maybe", "perhaps", "probably", "possibly", "can", "could", "should", "would",
		"must", "will", "shall", "supposed", "likely", "that", "which", "who", "whose", "whom", "what", "where", "how",
		"why", "say", "says", "said", "think", "thinks", "believe", "believes", "claim", "claims", "know", "knows",
		"seem", "seems", "want", "wants", "here", "there", "this", "these", "those", "my", "your", "his", "her", "their",
		"our", "its", "i", "you", "he", "she", "it", "we", "they", "me", "him", "them", "us",
		"morning", "afternoon", "evening", "night", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
		"sunday", "weekends", "weekdays":
		return true
	default:
		return false
	}
}
