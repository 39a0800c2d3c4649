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
}
