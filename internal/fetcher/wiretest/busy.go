package wiretest

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// busy is an origin that many names share. It counts open connections and running requests, and
// closes connections on which nothing is sent, as servers do.
type busy struct {
	net.Listener
	takes     time.Duration // for an answer
	HangsUp   bool          // after each answer
	impatient time.Duration // with a connection that says nothing; 0: it waits

	Mu                     sync.Mutex // guards what follows
	Open, MostOpen         int
	inFlight, mostInFlight int
	HungUp                 int
	Starts, ends           []time.Time // of requests
	connections, Answers   int
}

// NewBusy starts an origin. takes is how long each answer takes. The origin closes a connection on
// which nothing is sent for the time impatient.
func NewBusy(t testing.TB, on Network, takes, impatient time.Duration) *busy {
	t.Helper()
	l := listen(t, on)
	b := &busy{Listener: l, takes: takes, impatient: impatient}
	var wg sync.WaitGroup
	var conns sync.Map
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Store(c, true)
			wg.Go(func() { b.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		conns.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		wg.Wait()
	})
	return b
}

func (b *busy) serve(c net.Conn) {
	b.Mu.Lock()
	b.connections++
	b.Open++
	b.MostOpen = max(b.MostOpen, b.Open)
	b.Mu.Unlock()
	leave := sync.OnceFunc(func() {
		b.Mu.Lock()
		defer b.Mu.Unlock()
		b.Open--
	})
	defer leave()
	defer c.Close()
	br := bufio.NewReader(c)
	for n := 0; ; n++ {
		if b.impatient > 0 && n == 0 {
			c.SetReadDeadline(time.Now().Add(b.impatient))
		}
		for first := true; ; first = false {
			line, err := br.ReadString('\n')
			if err != nil {
				if n == 0 && first {
					b.Mu.Lock()
					b.HungUp++
					b.Mu.Unlock()
				}
				return
			}
			if first {
				c.SetReadDeadline(time.Time{})
				b.Mu.Lock()
				b.Starts = append(b.Starts, time.Now())
				b.inFlight++
				b.mostInFlight = max(b.mostInFlight, b.inFlight)
				b.Mu.Unlock()
			}
			if line == "\r\n" {
				break
			}
		}
		time.Sleep(b.takes)
		b.Mu.Lock()
		b.inFlight--
		b.Answers++
		b.ends = append(b.ends, time.Now())
		b.Mu.Unlock()
		if b.HangsUp {
			leave() // before the other side can know of it
			io.WriteString(c, strings.Replace(OKAnswer, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
			return
		}
		if _, err := io.WriteString(c, OKAnswer); err != nil {
			return
		}
	}
}
