package hosts

import (
	"fmt"
	"testing"

	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The cache of numbers has a fixed size. What it finds is the number of that very host.
func TestNumbers(t *testing.T) {
	t.Parallel()
	n := numbers{slots: make([]numberSlot, 64)}
	name := func(i int) canon.Host { return canon.Host(fmt.Sprintf("host-%d.example", i)) }
	for i := 1; i <= 1000; i++ {
		n.keep(name(i), store.HostID(i))
		if id := n.find(name(i)); id != store.HostID(i) {
			t.Fatalf("%s is %d", name(i), id)
		}
	}
	found := 0
	for i := 1; i <= 1000; i++ {
		switch n.find(name(i)) {
		case 0:
		case store.HostID(i):
			found++
		default:
			t.Errorf("%s has another number", name(i))
		}
	}
	if found < 32 || found > len(n.slots) {
		t.Errorf("%d of 1000 hosts are found in %d slots", found, len(n.slots))
	}
}
