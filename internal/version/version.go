// Package version says which Curtsy a program is: its version, and the commit it was built from.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Number is the version of this source (semver.org). A release changes it here and nowhere else.
const Number = "1.0.0-rc.1"

// Set by the linker where the Go tool sees no repository, with -X, as deploy/release does: the hash
// of the commit, and its time as RFC 3339 has it.
var commit, date string

// Info is which program this is.
type Info struct {
	Version string `json:"version"`
	// Commit is the whole hash of it; "" where it is not known, as with go run.
	Commit string `json:"commit,omitempty"`
	// Modified: files were changed after that commit.
	Modified bool `json:"modified,omitempty"`
	// Date is the time of the commit, in RFC 3339 and UTC; "" where it is not known.
	Date      string `json:"date,omitempty"`
	GoVersion string `json:"go"`
}

// Get is the information about this program.
func Get() Info {
	built, _ := debug.ReadBuildInfo()
	return of(built, commit, date)
}

// of is what the information of a build says, unless the linker has set something else. The
// information may be nil.
func of(built *debug.BuildInfo, commit, date string) Info {
	i := Info{Version: Number, Commit: commit, GoVersion: runtime.Version()}
	if commit == "" && built != nil {
		for _, s := range built.Settings {
			switch s.Key {
			case "vcs.revision":
				i.Commit = s.Value
			case "vcs.modified":
				i.Modified = s.Value == "true"
			case "vcs.time":
				date = s.Value
			}
		}
	}
	if t, err := time.Parse(time.RFC3339, date); err == nil {
		i.Date = t.UTC().Format(time.RFC3339)
	}
	return i
}

// String is what --version prints after the program's name:
// "1.0.0-rc.1 (commit 05b97271234a, 2026-11-27, go1.26.8)".
func (i Info) String() string {
	var about []string
	if i.Commit != "" {
		what := "commit " + i.Commit[:min(len(i.Commit), 12)]
		if i.Modified {
			what += " with changes"
		}
		about = append(about, what)
	}
	if day, _, ok := strings.Cut(i.Date, "T"); ok {
		about = append(about, day)
	}
	return fmt.Sprintf("%s (%s)", i.Version, strings.Join(append(about, i.GoVersion), ", "))
}

// Product is the version that requests carry behind our name, such as "1.0": the first two numbers
// alone, because a sender should not generate needlessly fine-grained detail there (RFC 9110
// §10.1.5).
func Product() string {
	core, _, _ := strings.Cut(Number, "-")
	parts := strings.Split(core, ".")
	return parts[0] + "." + parts[1]
}
