package version

import (
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	const hash = "05b97271234a89f0c1d2e3f4a5b6c7d8e9f00112"
	vcs := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261127061224-05b97271234a"}, Settings: []debug.BuildSetting{
			{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: hash}, {Key: "vcs.time", Value: "2026-11-27T06:12:24Z"}, {Key: "vcs.modified", Value: modified}}}
	}
	for _, c := range []struct {
		built        *debug.BuildInfo
		commit, date string
		want         string
	}{
		{nil, "", "", " ("},
		{&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "", "", " ("},
		{vcs("false"), "", "", " (commit 05b97271234a, 2026-11-27, "},
		{vcs("true"), "", "", " (commit 05b97271234a with changes, 2026-11-27, "},
		{vcs("true"), "abc", "", " (commit abc, "}, // the linker knows better
		{nil, "abc", "2026-11-28T01:00:00+02:00", " (commit abc, 2026-11-27, "},
		{nil, "abc", "yesterday", " (commit abc, "},
	} {
		if got, want := of(c.built, c.commit, c.date).String(), Number+c.want+runtime.Version()+")"; got != want {
			t.Errorf("%v, %q, %q: %s, want %s", c.built, c.commit, c.date, got, want)
		}
	}
	if got := of(vcs("false"), "", ""); got.Commit != hash || got.Modified || got.Date != "2026-11-27T06:12:24Z" || got.GoVersion != runtime.Version() {
		t.Errorf("the whole commit is %+v", got)
	}
}

func TestProduct(t *testing.T) {
	if got := Product(); !regexp.MustCompile(`^\d+\.\d+$`).MatchString(got) || !strings.HasPrefix(Number, got+".") {
		t.Errorf("version %s is %s in requests", Number, got)
	}
}
