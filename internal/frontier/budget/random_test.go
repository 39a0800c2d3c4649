package budget

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// modelShard is what really happens to a shard. Its owner knows all of it except late.
type modelShard struct {
	budget *Budget // of the process that owns it
	valid  bool    // of that ownership; shared with the budget by a closure
	stored int64   // pages
	visits int64   // pages of visits that the owner knows, not reported yet
	// Pages of visits of killed owners: when each can no longer be reported.
	late []time.Time
}

// model has some processes that own shards of one crawl with a limit of pages.
type model struct {
	t         *testing.T
	r         *rand.Rand
	kv        *memoryKV
	failing   bool
	async     bool
	limit     int64
	processes []*Budget
	shards    []*modelShard
	log       []string
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{t: t, r: rand.New(rand.NewPCG(seed, 1))}
	m.async = m.r.IntN(2) == 0
	m.failing = m.r.IntN(2) == 0
	m.limit = 5 + m.r.Int64N(40)
	m.kv = &memoryKV{fail: func() (before, after bool) {
		return m.failing && m.r.IntN(8) == 0, m.failing && m.r.IntN(8) == 0
	}}
	for range 2 + m.r.IntN(2) {
		m.processes = append(m.processes, m.process())
	}
	for id := range 1 + m.r.IntN(3) {
		m.shards = append(m.shards, &modelShard{})
		m.join(id, m.r.IntN(len(m.processes)), false)
	}
	return m
}

func (m *model) process() *Budget {
	b := &Budget{Log: slog.New(slog.DiscardHandler).Error, Async: m.async}
	b.SetLimit(m.limit, 0)
	b.Open(m.t.Context(), m.kv)
	return b
}

func (m *model) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

// join makes a process own a shard.
func (m *model) join(id, process int, unclean bool) {
	s := m.shards[id]
	owned := *s
	owned.budget, owned.valid = m.processes[process], true
	m.shards[id] = &owned
	owned.budget.Join(id, owned.stored+owned.visits, 0, func() bool { return m.shards[id] == &owned && owned.valid }, unclean)
}

func (m *model) report(id int) {
	s := m.shards[id]
	s.budget.Use(id, s.stored+s.visits, 0)
}

// step does one thing that may happen to a shard.
func (m *model) step() {
	id := m.r.IntN(len(m.shards))
	s := m.shards[id]
	switch m.r.IntN(9) {
	case 0, 1:
		n := s.budget.Take(id, 1+m.r.IntN(8))
		m.note("shard %d: %d pages granted", id, n)
		s.visits += int64(n)
		m.report(id)
	case 2, 3: // a page of a visit is reported
		if s.visits > 0 {
			s.visits--
			if m.r.IntN(3) > 0 {
				s.stored++
			}
			m.note("shard %d: a page is reported, %d stored", id, s.stored)
			m.report(id)
		}
	case 4: // a page of a killed owner's visit is reported
		if len(s.late) > 0 {
			s.late = s.late[1:]
			if m.r.IntN(3) > 0 {
				s.stored++
			}
			m.note("shard %d: a page is reported late, %d stored", id, s.stored)
			m.report(id)
		}
	case 5:
		if m.r.IntN(4) == 0 {
			m.kill(id)
		}
	case 6: // in order
		if m.r.IntN(4) == 0 {
			s.budget.GiveBackNow(id)
			s.budget.Forget(id)
			m.note("shard %d: handed over", id)
			m.join(id, m.r.IntN(len(m.processes)), false)
		}
	case 7:
		m.note("shard %d: gives back", id)
		s.budget.GiveBack(id)
	case 8:
		d := time.Duration(m.r.Int64N(int64(ExpiredTime)))
		m.note("%v pass", d)
		time.Sleep(d)
	}
	synctest.Wait() // reads of reserved slots come after all writes
}

// kill ends the process that owns a shard. Its other shards lose their owner too. The visits that
// run are known to nobody, but their fetchers may report pages for a while.
func (m *model) kill(id int) {
	dead := m.shards[id].budget
	for i, b := range m.processes {
		if b == dead {
			m.processes[i] = m.process()
		}
	}
	m.note("the owner of shard %d is killed", id)
	for id, s := range m.shards {
		if s.budget != dead {
			continue
		}
		s.valid = false
		// No fetcher reports later than this, and the next owner begins no earlier than now.
		for range s.visits {
			s.late = append(s.late, time.Now().Add(ExpiredTime))
		}
		s.visits = 0
		m.join(id, m.r.IntN(len(m.processes)), true)
	}
}

// check fails if more pages may be stored than the limit has.
func (m *model) check() {
	sum, now := int64(0), time.Now()
	for _, s := range m.shards {
		for len(s.late) > 0 && !now.Before(s.late[0]) {
			s.late = s.late[1:]
		}
		sum += s.stored + s.visits + int64(len(s.late))
	}
	if sum > m.limit {
		for _, line := range m.log {
			m.t.Log(line)
		}
		m.t.Fatalf("%d pages are stored or may be, the limit is %d", sum, m.limit)
	}
}

// finish stores pages until the limit has none left, which must be possible when nothing fails.
func (m *model) finish() {
	m.failing = false
	time.Sleep(ExpiredTime)
	for range 20 {
		for id, s := range m.shards {
			s.budget.GiveBack(id)
			synctest.Wait()
		}
		time.Sleep(budgetEvery)
	}
	m.check()
	for range 3 * len(m.shards) {
		for id, s := range m.shards {
			for range 2 { // the first may only begin to reserve them
				s.visits += int64(s.budget.Take(id, int(m.limit)))
				synctest.Wait()
			}
			s.stored, s.visits = s.stored+s.visits, 0
			m.report(id)
			s.budget.GiveBack(id)
			synctest.Wait()
			m.check()
			time.Sleep(budgetEvery)
		}
	}
	sum := int64(0)
	for _, s := range m.shards {
		sum += s.stored
	}
	if sum != m.limit {
		for _, line := range m.log {
			m.t.Log(line)
		}
		m.t.Errorf("%d pages stored, and no more are granted: the limit is %d", sum, m.limit)
	}
}

// Whatever the order of grants, reports, kills and hand-overs, a crawl never stores more pages than
// its limit, and in the end it may store all of them.
func TestRandomOrders(t *testing.T) {
	for seed := range uint64(1000) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel(t, seed)
				for range 60 {
					m.step()
					m.check()
				}
				m.finish()
			})
		})
		if t.Failed() {
			return
		}
	}
}
