package restore

import "testing"

func TestCheckpointNames(t *testing.T) {
	for _, c := range []Name{{3, 1_790_000_000, 1, 77, 2, 0}, {3, 1_790_000_000, 1, 77, 9, 8}} {
		if got, ok := ParseName(c.String()); !ok || got != c {
			t.Errorf("%s is read as %+v, %v", c, got, ok)
		}
	}
	c := Name{3, 1_790_000_000, 1, 77, 2, 0}
	if got, ok := ParseName(c.String()); !ok || got != c {
		t.Errorf("%s is read as %+v, %v", c, got, ok)
	}
	for _, bad := range []string{"", "3-4-5-6", "3-4-5-6-7-8", "3-4-5-6-7-7", "3-4-5-6-7-0", "3-4-5-6-7-08", "3-4-5-6-7-6-5", "03-1-0-1-1", "x-1-2-3-4", "3-1-0-1-1 "} {
		if _, ok := ParseName(bad); ok {
			t.Errorf("%q is taken for a checkpoint", bad)
		}
	}
}
