package simnet

import (
	"context"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats-server/v2/server/ats"
)

// Test runs f in its own bubble, with virtual time. It returns when every goroutine that f started
// has ended; one that never ends fails the test. Tests that call it must not run in parallel with
// one another, see below. Inside f, t.Run and t.Parallel must not be called.
func Test(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	// The NATS server has one goroutine for access times that all servers of a process share. If it
	// was started in a bubble, the bubble would never count it as waiting durably, and time would
	// not advance.
	ats.Register()
	defer ats.Unregister()
	// nats.go keeps used timers in a sync.Pool for the whole process, and a timer of one bubble
	// must not be used in another, nor outside. A pool drops what two garbage collections in a row
	// have found unused. This is also why two bubbles must not run at the same time.
	emptyPools()
	defer emptyPools()
	resolver()
	synctest.Test(t, f)
}

func emptyPools() {
	runtime.GC()
	runtime.GC()
}

// resolver makes package net create the data of its Go resolver that all lookups of a process
// share. If the first lookup in a bubble created them, they would belong to this bubble, and a
// lookup in the next one would end the process.
var resolver = sync.OnceFunc(func() {
	(&net.Resolver{PreferGo: true}).LookupHost(context.Background(), "localhost") // from /etc/hosts
})
