package main

import (
	"context"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// sets are answers with these datasets and nothing else.
type sets struct {
	answers
	all []crawl.DatasetInfo
}

func (s sets) Datasets(_ context.Context, each func(crawl.DatasetInfo) error) error {
	for _, d := range s.all {
		if err := each(d); err != nil {
			return err
		}
	}
	return nil
}

func TestDatasetsWanted(t *testing.T) {
	by := "CC-BY-4.0"
	from := sets{all: []crawl.DatasetInfo{
		{ID: "1", Title: "Rain in Freiburg", SPDX: &by}, {ID: "2", Keywords: []string{"RAIN"}, License: "own"},
		{ID: "3", Title: "Snow", Columns: []crawl.DatasetColumn{{Name: "rain_mm"}}, SPDX: &by},
	}}
	for _, c := range []struct {
		licenses, words, want string
	}{
		{"", "", "1 2 3"}, {"", "rain", "1 2 3"}, {"", "rain freiburg", "1"}, {"cc-by-4.0", "", "1 3"}, {"CC BY 4.0", "snow", "3"},
		{"unknown", "", "2"}, {"unknown,CC-BY-4.0", "", "1 2 3"}, {"MIT", "", ""}, {"", "hail", ""},
	} {
		w := wanted{licenses: strings.FieldsFunc(c.licenses, func(r rune) bool { return r == ',' })}
		var got []string
		err := w.datasets(t.Context(), from, strings.Fields(c.words), func(d crawl.DatasetInfo) error {
			got = append(got, d.ID)
			return nil
		})
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%q %q: %v, %v, want %s", c.licenses, c.words, got, err, c.want)
		}
	}
	w := wanted{licenses: []string{"free"}}
	if err := w.datasets(t.Context(), from, nil, nil); err == nil || !strings.Contains(err.Error(), "CC-BY-4.0") {
		t.Errorf("a licence nobody knows: %v", err)
	}
}
