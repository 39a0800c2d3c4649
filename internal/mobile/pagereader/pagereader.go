// Package pagereader has the mobile robot that a crawl sends: a WebAssembly module that reads the
// documents of a site on the site's own machine (package robot beneath it). It is compiled in
// advance and checked in, because a robot is known to its hosts by its digest, which has to be the
// same in every copy of a release.
//
// After a change to the robot, or to a package that it imports, make it again:
//
//	go generate ./internal/mobile/pagereader
//
// A test finds out if that was forgotten.
package pagereader

//go:generate go run ./pack

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the module
	"io"
	"strings"
	"sync"

	"github.com/curtsy/curtsy/internal/mobile"
)

//go:embed robot.wasm.gz
var packed []byte

//go:embed go-version.txt
var version string

// GoVersion is the release of Go with which the module was compiled, such as go1.26.8.
func GoVersion() string { return strings.TrimSpace(version) }

// Packed returns the module as a member of a gzip stream. It may be appended to a body that is
// compressed with gzip, so that the module is not compressed for each request. It must not be
// changed.
func Packed() []byte { return packed }

// Module returns the module, in memory of its own.
func Module() []byte {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err) // a test unpacks it
	}
	module, err := io.ReadAll(z)
	if err != nil {
		panic(err)
	}
	return module
}

// Digest returns the digest of the module, as tickets have it. It may be called concurrently.
var Digest = sync.OnceValue(func() string { return mobile.Digest(Module()) })
