package fair

import "testing"

// Strangers have a part of the files only, and neither none nor very many.
func TestConnectionsOf(t *testing.T) {
	for files, want := range map[int]int{16: leastConnections, 64: 16, 256: 64, 1024: 256, 4096: 1024, 1 << 20: mostConnections} {
		if got := connectionsOf(files); got != want {
			t.Errorf("with %d files there are %d connections, want %d", files, got, want)
		}
	}
	if p := Process(); p.Most() < leastConnections || p != Process() {
		t.Error("the process has no connections, or several times its number")
	}
}
