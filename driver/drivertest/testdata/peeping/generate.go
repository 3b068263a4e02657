//go:build ignore

// A program that is run by hand is no part of the driver.
package main

import _ "plugin"

func main() {}
