package indexer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Code that reads a page of a site marks the page in a file first and removes the mark afterwards.
// A page whose mark is found when the file is opened was being read when the process ended. Perhaps
// somebody killed the process, so the page is read once in a process of its own, which may die of
// it (trial.go). If it does, the page is condemned: nobody here reads it any more, it is removed
// from the store, and the frontier is notified (reason unreadable).
//
// A mark is one write of a few hundred bytes without an fsync. The system keeps it when a process
// dies, however that happens. If the machine dies, a mark may be lost, and then the page costs one
// more process; or an old mark may be left, and then a harmless page is tried.
//
// The file is an array of slots. The first are for readers, the others for pages found in the slots
// of an earlier process.

// The file is an array of slots. The first are for readers, the others for pages found in a
// former process' slots.
const (
	marksName   = "reading.mark"
	slotSize    = 4096 // in bytes; more than a URL and its visit need
	readerSlots = 32   // how many pages may be read at the same time; more must wait
	marksAgain  = 50 * time.Millisecond
	knownSlots  = 96 // if there are more, one is forgotten: it is no longer in the store
)

// The states of a slot.
const (
	slotFree = iota
	slotReading
	slotCondemned
)

// errUnreadable is why a page is not read.
var errUnreadable = errors.New("unreadable: the process that read it crashed or would have crashed")

// marked identifies a copy of a page.
type marked struct {
	url   canon.URL
	visit crawl.VisitID
}

// marks guards all reading of pages in one directory. Its methods may be called from many
// goroutines. The marks of newMarks only recover from panics.
type marks struct {
	log  *slog.Logger
	file *os.File    // nil: nothing is marked
	free chan int    // slots
	some atomic.Bool // there are pages in known

	mu      sync.Mutex
	known   map[marked]uint8 // slotReading: found, not tried yet; slotCondemned
	slots   map[marked]int   // the slots of known pages
	changed chan struct{}    // closed and replaced when a page is condemned

	count func()          // called when a page is condemned; nil in a Reader
	hook  func(canon.URL) // for tests: called where a page is read

	// It reads a suspected page where this does no harm, and reports whether the page is harmful.
	// nil means that there are no trials, and each suspected page counts as harmful.
	try func(*pages.Page) error
}

// testHook is the hook of all marks.
var testHook func(canon.URL)

// SetTestHook is only for tests. From then on f is called where a page is read.
func SetTestHook(f func(canon.URL)) { testHook = f }

// newMarks returns marks that recover from panics and write nothing.
func newMarks(log *slog.Logger) *marks {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &marks{log: log, known: map[marked]uint8{}, slots: map[marked]int{}, changed: make(chan struct{}), hook: testHook}
}

// openMarks opens the marks of a directory. While another process has them open, or if nothing can
// be written, pages are read without marks. An indexer waits for a while, because somebody may be
// looking at the directory. try reads suspected pages; nil means that there are no trials.
func openMarks(dir string, wait time.Duration, log *slog.Logger, try func(*pages.Page) error) *marks {
	m := newMarks(log)
	m.try = try
	log = m.log
	path := filepath.Join(dir, marksName)
	f, err := disk.OpenRegular(path, os.O_RDWR|os.O_CREATE)
	if err == nil {
		for err = lockFile(f); err != nil && wait > 0; err = lockFile(f) {
			time.Sleep(marksAgain)
			wait -= marksAgain
		}
		if err != nil {
			f.Close()
		}
	}
	if err != nil {
		log.Debug("pages are read without crash protection, because marks cannot be written", "file", path, "err", err)
		return m
	}
	m.file, m.free = f, make(chan int, readerSlots)
	found := m.load()
	for i := range readerSlots {
		m.write(i, slotFree, marked{})
		m.free <- i
	}
	for k, state := range found {
		m.note(k, state)
		log.Warn("a page was being read when the previous process ended", "url", k.url, "condemned", state == slotCondemned)
	}
	return m
}

func (m *marks) close() {
	if m.file != nil {
		m.file.Close()
	}
}

// load reads the marks that an earlier process left.
func (m *marks) load() map[marked]uint8 {
	found := map[marked]uint8{}
	buf := make([]byte, slotSize)
	for i := range readerSlots + knownSlots {
		n, _ := m.file.ReadAt(buf, int64(i)*slotSize)
		if n < 8 || buf[0] == slotFree {
			continue
		}
		size := int(binary.LittleEndian.Uint16(buf[2:]))
		if 8+size > n || crc32.ChecksumIEEE(buf[8:8+size]) != binary.LittleEndian.Uint32(buf[4:]) {
			continue
		}
		b := buf[8 : 8+size]
		epoch, k := binary.Uvarint(b)
		number, l := binary.Uvarint(b[max(k, 0):])
		if k <= 0 || l <= 0 {
			continue
		}
		key := marked{canon.URL(b[k+l:]), crawl.VisitID{Epoch: epoch, N: number}}
		found[key] = max(found[key], buf[0])
	}
	return found
}

// write fills a slot in one write.
func (m *marks) write(slot int, state uint8, k marked) {
	var room [512]byte
	b := append(room[:0], state, 0, 0, 0, 0, 0, 0, 0)
	if state != slotFree {
		b = binary.AppendUvarint(binary.AppendUvarint(b, k.visit.Epoch), k.visit.N)
		b = append(b, k.url[:min(len(k.url), slotSize-64)]...)
		binary.LittleEndian.PutUint16(b[2:], uint16(len(b)-8))
		binary.LittleEndian.PutUint32(b[4:], crc32.ChecksumIEEE(b[8:]))
	}
	if _, err := m.file.WriteAt(b, int64(slot)*slotSize); err != nil {
		// the disk is full: the page is read without a mark
		m.log.Debug("a mark cannot be written", "err", err)
	}
}

// note stores a suspected or condemned page in a slot of its own.
func (m *marks) note(k marked, state uint8) {
	m.mu.Lock()
	defer m.mu.Unlock()
	slot, ok := m.slots[k]
	if !ok {
		used := map[int]bool{}
		for _, s := range m.slots {
			used[s] = true
		}
		for slot = readerSlots; used[slot]; slot++ {
		}
		for old := range m.slots {
			if slot < readerSlots+knownSlots {
				break
			}
			slot = m.slots[old]
			delete(m.slots, old)
			delete(m.known, old)
		}
		m.slots[k] = slot
	}
	m.known[k] = state
	m.some.Store(true)
	if m.file != nil {
		m.write(slot, state, k)
	}
	if state == slotCondemned {
		close(m.changed)
		m.changed = make(chan struct{})
	}
}

// suspect reports whether there is any page that ended a process, or may have done so.
func (m *marks) suspect() bool { return m != nil && m.some.Load() }

// forget removes a page that is harmless, or is no longer in the store.
func (m *marks) forget(k marked) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slot, ok := m.slots[k]; ok && m.file != nil {
		m.write(slot, slotFree, marked{})
	}
	delete(m.slots, k)
	delete(m.known, k)
	m.some.Store(len(m.known) > 0)
}

// condemned returns the pages that must be removed from the store, and a channel that is closed
// when there are more.
func (m *marks) condemned() (all []marked, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, state := range m.known {
		if state == slotCondemned {
			all = append(all, k)
		}
	}
	return all, m.changed
}

func (m *marks) condemn(k marked, why string) error {
	m.log.Error("a page is unreadable: it is quarantined and not read again", "url", k.url, "why", why)
	m.note(k, slotCondemned)
	if m.count != nil {
		m.count()
	}
	return fmt.Errorf("%w: %s", errUnreadable, why)
}

// read runs f, which reads a page. It returns errUnreadable if the page is condemned, or is
// condemned now: because f panicked, or because a trial died of the page.
func (m *marks) read(p *pages.Page, f func()) error {
	if m == nil {
		m = newMarks(nil)
	}
	k := marked{p.URL, p.Visit}
	if m.some.Load() {
		state := m.state(k)
		switch state {
		case slotCondemned:
			return errUnreadable
		case slotReading:
			if err := m.trial(p); err != nil {
				return m.condemn(k, err.Error())
			}
			m.forget(k)
		}
	}
	if m.file != nil {
		slot := <-m.free
		m.write(slot, slotReading, k)
		defer func() {
			m.write(slot, slotFree, marked{})
			m.free <- slot
		}()
	}
	if why := survive(func() {
		if m.hook != nil {
			m.hook(p.URL)
		}
		f()
	}); why != "" {
		return m.condemn(k, why)
	}
	return nil
}

// trial returns an error if a suspected page is harmful.
func (m *marks) trial(p *pages.Page) error {
	if m.try == nil {
		return errors.New("it was being read when a process crashed")
	}
	return m.try(p)
}

// state returns what is known about a copy of a page. Another copy of a known page is suspected:
// perhaps the process died before the outcome of its visit was reported, and then the page is
// fetched once more. Without trials another copy is not suspected, because a corrected page would
// be condemned with it.
func (m *marks) state(k marked) uint8 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if state, ok := m.known[k]; ok {
		return state
	}
	for other := range m.known {
		if m.try != nil && other.url == k.url {
			return slotReading
		}
	}
	return slotFree
}

// survive runs f and returns what it panicked with, and where; "" if it did not.
func survive(f func()) (why string) {
	defer func() {
		if p := recover(); p != nil {
			why = fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f()
	return ""
}
