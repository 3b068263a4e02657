package classify

import (
	"net/netip"
	"strings"
)

// ipv4At adds the public address of four numbers at i and returns its end, or 0. A version, a
// section or an object identifier can look the same: a name for one speaks against, and low
// numbers need a name for an address.
func (s *scan) ipv4At(i int) int {
	if s.continues(i) || s.bytes.has(s.text, i-1, dot) {
		return 0
	}
	end, big := i, false
	for n := range 4 {
		stop := s.bytes.run(s.text, end, 4, digit)
		if stop == end || stop-end > 3 || stop-end > 1 && s.text[end] == '0' || atoi(s.text[end:stop]) > 255 {
			return 0
		}
		big = big || stop-end == 3
		end = stop
		if n < 3 {
			if end >= len(s.text) || s.text[end] != '.' {
				return 0
			}
			end++
		}
	}
	if s.bytes.has(s.text, end, alnumeric|underscore) || s.bytes.has(s.text, end, dot) && s.bytes.has(s.text, end+1, digit) {
		return 0
	}
	addr, err := netip.ParseAddr(s.text[i:end])
	if err != nil || !public4(addr) || s.text[max(0, i-1)] == '/' && !strings.HasSuffix(s.text[:i], "://") {
		return 0
	}
	named := s.near(wordIP, i, end, 24, 0)
	if s.named(wordVersion, i) || !named && (!big || s.near(wordVersion, i, end, 24, 0)) {
		return 0
	}
	s.add(IPAddress, weightContact, i, end)
	return end
}

// public4 reports whether an address is routed on the internet and neither a public resolver
// nor one that people make up.
func public4(a netip.Addr) bool {
	b := a.As4()
	switch {
	case !a.IsGlobalUnicast() || a.IsPrivate(), b[0] == 0, b[0] >= 240, b[0] == 100 && b[1]&0xC0 == 64,
		b[0] == 198 && b[1]&0xFE == 18, b[0] == 192 && b[1] == 0, b[0] == 192 && b[1] == 88 && b[2] == 99,
		b[0] == 198 && b[1] == 51 && b[2] == 100, b[0] == 203 && b[1] == 0 && b[2] == 113, b[0] == 255:
		return false
	}
	return !isOneOf(a.String(), "1.2.3.4 5.6.7.8 8.8.8.8 8.8.4.4 1.1.1.1 1.0.0.1 9.9.9.9 149.112.112.112 208.67.222.222 208.67.220.220")
}

// maxIPv6 is the length of the longest address that is looked at.
const maxIPv6 = 45

// ipv6At adds the global address at i and returns where what looks like one ends, or 0.
func (s *scan) ipv6At(i int) int {
	if s.bytes.has(s.text, i-1, alnumeric|underscore|colon|dot) {
		return 0
	}
	end := s.bytes.run(s.text, i, maxIPv6+1, digit|lowerHex|upperHex|colon)
	if end-i > maxIPv6 || strings.Count(s.text[i:end], ":") < 2 {
		return 0
	}
	if s.bytes.has(s.text, end, letter|underscore) {
		return end
	}
	addr, err := netip.ParseAddr(strings.TrimRight(s.text[i:end], ":"))
	if err != nil || !addr.Is6() {
		return 0
	}
	b := addr.As16()
	if b[0]&0xE0 != 0x20 || b[0] == 0x20 && b[1] == 0x01 && (b[2] == 0x0D && b[3] == 0xB8 || b[2] < 2) || b[0] == 0x3F && b[1] == 0xFF && b[2] < 0x10 {
		return end // not global, or for documentation, or a tunnel
	}
	if isOneOf(addr.String(), "2001:4860:4860::8888 2001:4860:4860::8844 2606:4700:4700::1111 2606:4700:4700::1001 2620:fe::fe") {
		return end
	}
	s.add(IPAddress, weightContact, i, end)
	return end
}

// plainIP writes an address in its shortest form.
func plainIP(written string) string {
	addr, err := netip.ParseAddr(written)
	if err != nil {
		return strings.ToLower(written)
	}
	return addr.String()
}
