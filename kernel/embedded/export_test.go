//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

// What the tests of package embedded_test see of the inside.

type (
	AptSource = aptSource
	OSRelease = osRelease
)

var (
	ParseDeb822        = parseDeb822
	ParseOneLine       = parseOneLine
	DistributionSource = distributionSource
	SuitesFor          = suitesFor
	RemedyFor          = remedyFor
	NewEnough          = newEnough
	Quote              = quote
	FitsSocket         = fitsSocket
	ReadOSRelease      = readOSRelease
	PackageVersion     = packageVersion
	Configuration      = configuration
	ServerProcesses    = serverProcesses
	NeedlessPackage    = needless
	Remedy             = remedy
)

func NewRelease(id, version, codename string) OSRelease { return OSRelease{id, version, codename} }

func (s aptSource) URI() string      { return s.uri }
func (s aptSource) SignedBy() string { return s.signedBy }
func (s aptSource) Suites() []string { return s.suites }
func (r osRelease) ID() string       { return r.id }
func (r osRelease) Codename() string { return r.codename }
