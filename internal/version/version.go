// Package version says which Curtsy a program is: its version, and the commit it was built from.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Set by the linker where the Go tool sees no repository, with -X, as deploy/Dockerfile does.
var number, commit string

// Info is which program this is.
type Info struct {
	Version string `json:"version"` // "0.1.0-dev" if nobody said one
	// Commit is the whole hash of it; "" where it is not known, as with go run.
	Commit string `json:"commit,omitempty"`
	// Modified: files were changed after that commit.
	Modified  bool   `json:"modified,omitempty"`
	GoVersion string `json:"go"`
}

// Get is the information about this program.
func Get() Info {
	built, _ := debug.ReadBuildInfo()
	return of(built, number, commit)
}

// of is what a build's information says (nil: there is none), unless the linker said something
// else.
func of(built *debug.BuildInfo, number, commit string) Info {
	i := Info{Version: number, Commit: commit, GoVersion: runtime.Version()}
	if built != nil {
		if v := built.Main.Version; i.Version == "" && v != "(devel)" {
			i.Version = v
		}
		if i.Commit == "" {
			for _, s := range built.Settings {
				switch s.Key {
				case "vcs.revision":
					i.Commit = s.Value
				case "vcs.modified":
					i.Modified = s.Value == "true"
				}
			}
		}
	}
	if i.Version == "" {
		i.Version = "0.1.0-dev"
	}
	return i
}

// String is what --version says behind the program's name:
// "0.1.0-dev (commit 05b97271234a, go1.26.8)".
func (i Info) String() string {
	switch short := i.Commit[:min(len(i.Commit), 12)]; {
	case short == "":
		return fmt.Sprintf("%s (%s)", i.Version, i.GoVersion)
	case i.Modified:
		return fmt.Sprintf("%s (commit %s with changes, %s)", i.Version, short, i.GoVersion)
	default:
		return fmt.Sprintf("%s (commit %s, %s)", i.Version, short, i.GoVersion)
	}
}
