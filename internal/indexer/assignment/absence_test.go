package assignment

import (
	"testing"
	"time"
)

// Absence is measured only while the broker responds to us, and begins again whenever the primary
// did anything.
func TestAbsenceIsCountedWithCare(t *testing.T) {
	p := newAllotment(&Options{Instance: "me", Term: 10 * time.Second, RebuildAfter: time.Minute, Shards: 1})
	p.assignments[0] = known{Record: Record{Instance: "other"}}
	now := time.Now()
	look := func(after time.Duration, owner uint64) bool {
		now = now.Add(after)
		p.seen(0, "other", traces{owner}, now)
		return p.lost(0) == "other"
	}
	look(0, 5)
	for range 19 {
		if look(3*time.Second, 5) {
			t.Fatal("lost before a minute")
		}
	}
	if look(time.Hour, 5) {
		t.Error("an hour in which we were cut off ourselves counts")
	}
	if !look(3*time.Second, 0) {
		t.Error("not lost after a minute; a key that went by itself is no sign of life")
	}
	if look(3*time.Second, 6) {
		t.Error("lost although its owner record was written")
	}
	p.there = map[string]bool{"other": true}
	for range 100 {
		if look(3*time.Second, 6) {
			t.Fatal("lost although it is a member")
		}
	}
}
