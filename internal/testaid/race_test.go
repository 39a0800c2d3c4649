package testaid

import "testing"

func TestVolume(t *testing.T) {
	want := 7
	if RaceDetector {
		want = 2
	}
	if got := Volume(7, 2); got != want {
		t.Errorf("Volume(7, 2) = %d, want %d", got, want)
	}
	if got := runs(7, 2, false); got != want {
		t.Errorf("runs(7, 2) = %d, want %d", got, want)
	}
	if got := runs(7, 2, true); got != longer*want {
		t.Errorf("runs(7, 2) = %d with CURTSY_LONG, want %d", got, longer*want)
	}
}
