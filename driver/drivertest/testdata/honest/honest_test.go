package honest

// The package's own tests do not compile, which is no reason not to judge its driver.
var _ = notThere
