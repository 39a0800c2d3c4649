// Lint checks the code of Curtsy. The go command runs it on every package, as it does go vet, and
// keeps the results in its cache:
//
//	tools/lint/run                  # this module, or with packages: tools/lint/run ./pkg/...
//
// It is a module of its own, so that nothing that Curtsy is built from depends on its libraries.
package main

import "golang.org/x/tools/go/analysis/unitchecker"

func main() { unitchecker.Main(checks()...) }
