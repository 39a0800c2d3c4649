package simnet

import (
	"sync"
	"testing"
)

// nets are the networks of the tests that run now, by testing.TB.
var nets sync.Map

// Of is the network of a test, always the same for the same t. It delivers everything at once. So
// the helpers of a test need not pass a network to one another.
func Of(t testing.TB) *Net {
	n, ok := nets.LoadOrStore(t, New(Options{}))
	if !ok {
		t.Cleanup(func() { nets.Delete(t) })
	}
	return n.(*Net)
}
