package classify

import "strings"

// maxUserinfo bounds, in bytes, the name and the password in a URL.
const maxUserinfo = 512

// findURLSecrets looks for passwords in URLs.
func (s *scan) findURLSecrets() {
	if s.present&colon == 0 {
		return
	}
	for from := 0; ; {
		n := strings.Index(s.text[from:], "://")
		if n < 0 {
			return
		}
		at := from + n
		from = at + 3
		scheme := s.text[s.bytes.back(s.text, at, 32, alnumeric|slash|dot|dash):at]
		if scheme == "" {
			continue
		}
		if start, end := s.userinfoPassword(from); end > 0 {
			kind := URLPassword
			if databaseScheme(scheme) {
				kind = DatabasePassword
			}
			s.add(kind, weightPlaced, start, end)
			from = end
		}
	}
}

func databaseScheme(scheme string) bool {
	base, _, _ := strings.Cut(strings.ToLower(scheme), "+")
	return isOneOf(base, "postgres postgresql mysql mariadb mongodb redis rediss amqp amqps mssql sqlserver oracle clickhouse "+
		"cockroachdb cassandra neo4j bolt couchbase couchdb influxdb nats memcached elasticsearch ldap ldaps snowflake jdbc")
}

// userinfoPassword returns the extent of the password in the userinfo at i; an end of 0 means
// none.
func (s *scan) userinfoPassword(i int) (start, end int) {
	limit := min(len(s.text), i+maxUserinfo)
	for n := i; n < limit; n++ {
		switch c := s.text[n]; {
		case c == ':' && start == 0:
			start = n + 1
		case c == '@':
			// A password may hold an @ that nobody escaped: the last one before the host counts.
			if start == 0 {
				return 0, 0
			}
			end = n
		case c == '/' || c == '?' || c == '#':
			if end > 0 || start == 0 || allDigits(s.text[start:n]) || !s.atAhead(n, limit) {
				n = limit
			}
		case c <= ' ' || c == '"' || c == '\'' || c == '<' || c == '>' || c == '`' || c == '|' || c == '\\':
			n = limit
		}
	}
	if end == 0 {
		return 0, 0
	}
	if user, pass := s.text[i:start-1], s.text[start:end]; !plausiblePassword(user, pass) {
		return 0, 0
	}
	return start, end
}

// atAhead reports whether an @ follows before the URL can end: then a / was part of the
// password.
func (s *scan) atAhead(i, limit int) bool {
	for n := i + 1; n < min(limit, i+64); n++ {
		switch c := s.text[n]; {
		case c == '@':
			return true
		case c <= ' ' || c == '/' || c == '"' || c == '\'' || c == '<' || c == '>' || c == ',':
			return false
		}
	}
	return false
}

// plausiblePassword reports whether pass is a password and no port, name or stand-in.
func plausiblePassword(user, pass string) bool {
	if len(pass) < 4 || strings.EqualFold(user, pass) || placeholder(pass) || pass[0] == '$' || pass[0] == '%' && strings.HasSuffix(pass, "%") {
		return false
	}
	return !isOneOf(strings.ToLower(pass), "password pass passwd pwd secret token user username admin pw dev test postgres root guest apikey key p p@ss pass_word")
}

// sasReach is how far from its signature another parameter of a shared access URL may stand.
const sasReach = 512

// findSharedAccess looks for the signatures of shared access URLs.
func (s *scan) findSharedAccess() {
	const name = "sig="
	for from := 0; ; {
		n := strings.Index(s.text[from:], name)
		if n < 0 {
			return
		}
		i := from + n
		from = i + len(name)
		if i == 0 || s.text[i-1] != '?' && s.text[i-1] != '&' {
			continue
		}
		around := s.text[max(0, i-sasReach):min(len(s.text), i+sasReach)]
		if !strings.Contains(around, "se=") || !strings.Contains(around, "sv=") {
			continue
		}
		stop := from
		for stop < min(len(s.text), from+128) && (s.text[stop] == '%' || s.bytes.has(s.text, stop, alnumeric|slash|equals|dash|underscore)) {
			stop++
		}
		if stop-from >= 32 && !placeholder(s.text[from:stop]) {
			s.add(AzureKey, weightShape, from, stop)
		}
		from = stop
	}
}
