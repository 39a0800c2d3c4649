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

// Test runs f in a bubble of its own, with virtual time. It returns when every goroutine that f
// started has ended; one that never ends fails the test. Tests that call it must not run in
// parallel with one another, see below. Inside f, t.Run and t.Parallel must not be called.
func Test(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	// The NATS server shares one goroutine for access times among all servers of a process. If it
	// began in a bubble it would never wait durably there, and time would stand still.
	ats.Register()
	defer ats.Unregister()
	// nats.go keeps used timers in a sync.Pool for the whole process, and a timer of one bubble
	// must not be used in another, nor outside. A pool forgets what two garbage collections in a
	// row have found unused. This is also why two bubbles must not run at once.
	emptyPools()
	defer emptyPools()
	resolver()
	synctest.Test(t, f)
}

func emptyPools() {
	runtime.GC()
	runtime.GC()
}

// resolver has package net make what its resolver in Go shares among all lookups of a process. Made
// by the first lookup in a bubble, that would belong to this bubble, and a lookup in the next one
// would end the process.
var resolver = sync.OnceFunc(func() {
	(&net.Resolver{PreferGo: true}).LookupHost(context.Background(), "localhost") // from /etc/hosts
})
