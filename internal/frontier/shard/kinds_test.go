package shard

import (
	"reflect"
	"slices"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Every part of an event has one row, but those that say where it comes from and how it is meant.
func TestKindsOfEvents(t *testing.T) {
	about := []string{"Visit", "Fetcher", "Forward"}
	var rows []string
	for _, k := range kinds(new(Parts)) {
		rows = append(rows, k.field)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[crawl.Event]()) {
		n := 0
		for _, row := range rows {
			if row == f.Name {
				n++
			}
		}
		want := 1
		if slices.Contains(about, f.Name) {
			want = 0
		}
		if n != want {
			t.Errorf("%s has %d rows, want %d", f.Name, n, want)
		}
		rows = slices.DeleteFunc(rows, func(row string) bool { return row == f.Name })
	}
	if len(rows) > 0 {
		t.Errorf("rows of no field: %v", rows)
	}
}
