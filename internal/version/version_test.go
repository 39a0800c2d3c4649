package version

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestOf(t *testing.T) {
	const hash = "05b97271234a89f0c1d2e3f4a5b6c7d8e9f00112"
	vcs := func(version, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version},
			Settings: []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: hash}, {Key: "vcs.modified", Value: modified}}}
	}
	for _, c := range []struct {
		built          *debug.BuildInfo
		number, commit string
		want           string
	}{
		{nil, "", "", "0.1.0-dev ("},
		{&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "", "", "0.1.0-dev ("},
		{vcs("", "false"), "", "", "0.1.0-dev (commit 05b97271234a, "},
		{vcs("v1.2.3", "true"), "", "", "v1.2.3 (commit 05b97271234a with changes, "},
		{vcs("v1.2.3", "true"), "1.2.4", "abc", "1.2.4 (commit abc, "}, // the linker knows better
	} {
		if got, want := of(c.built, c.number, c.commit).String(), c.want+runtime.Version()+")"; got != want {
			t.Errorf("%v, %q, %q: %s, want %s", c.built, c.number, c.commit, got, want)
		}
	}
	if got := of(vcs("", "false"), "", ""); got.Commit != hash || got.Modified || got.GoVersion != runtime.Version() {
		t.Errorf("the whole commit is %+v", got)
	}
}
