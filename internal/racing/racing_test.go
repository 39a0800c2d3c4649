package racing_test

import (
	"testing"

	"github.com/curtsy/curtsy/internal/racing"
)

func TestVolume(t *testing.T) {
	want := 7
	if racing.Enabled {
		want = 2
	}
	if got := racing.Volume(7, 2); got != want {
		t.Errorf("Volume(7, 2) = %d, want %d", got, want)
	}
	was := racing.Long
	defer func() { racing.Long = was }()
	racing.Long = false
	if got := racing.Runs(7, 2); got != want {
		t.Errorf("Runs(7, 2) = %d, want %d", got, want)
	}
	racing.Long = true
	if got := racing.Runs(7, 2); got < 10*want {
		t.Errorf("Runs(7, 2) = %d where there is time, want many times %d", got, want)
	}
}
