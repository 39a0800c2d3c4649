package data

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The datasets that become known from a file of earlier exports.
func TestReadKnown(t *testing.T) {
	for _, tt := range []struct{ file, want, wrong string }{
		{"", "", ""},
		{"a\n\n b \r\n{\"id\":\"c\",\"removed\":null,\"files\":[{\"id\":\"x\"}]}", "a b c", ""},
		{"{\"id\":\"a\"}\n{\"id\":\"a\",\"removed\":\"gone\"}\n{\"id\":\"b\",\"removed\":\"gone\"}\nb", "b", ""},
		{"a\nb\nc\nd\na", "a b c d", ""}, // as many as may be
		{"a\nb\nc\nd\ne", "", "more than 4"},
		{"a\n{\"url\":\"x\"}", "", "line 2"},
		{"a\n{\"id\":", "", "line 2"},
	} {
		got, err := readKnown(strings.NewReader(tt.file), 4)
		if tt.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%q: %v, want %s", tt.file, err, tt.wrong)
			}
			continue
		}
		if all := strings.Join(slices.Sorted(maps.Keys(got)), " "); err != nil || all != tt.want {
			t.Errorf("%q: %s, %v; want %s", tt.file, all, err, tt.want)
		}
	}
	for n, ok := range map[int]bool{maxKnownLine - 1: true, maxKnownLine: false} {
		if _, err := readKnown(strings.NewReader("{\"id\":\"a\"}\n"+strings.Repeat(" ", n)), 4); (err == nil) != ok {
			t.Errorf("a line of %d bytes: %v", n, err)
		}
	}
}

// The remaining known datasets are written in order, with the reason. If the format has no place
// for them, their number is returned.
func TestKnownAreRemoved(t *testing.T) {
	k := knownDatasets{"b": "", "a": "", "c": "", "d": ""}
	k.seen("b", "")
	k.seen("c", "ai-train disallow")
	k.seen("stranger", "")
	var told []string
	out := rows{removed: func(id, why string) error { told = append(told, id+" "+why); return nil }}
	if n, err := k.remove(&out); n != 0 || err != nil || !slices.Equal(told, []string{"a gone", "c ai-train disallow", "d gone"}) {
		t.Errorf("%d, %v, %q", n, err, told)
	}
	if n, err := k.remove(&rows{}); n != 3 || err != nil {
		t.Errorf("%d without a place, %v", n, err)
	}
	full := errors.New("full")
	if _, err := k.remove(&rows{removed: func(string, string) error { return full }}); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}
