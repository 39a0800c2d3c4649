package pages

import "sync"

// signal wakes those who wait for the next commit of some kind. The zero value is ready to use. It
// may be used concurrently.
type signal struct {
	mu   sync.Mutex    // guards next
	next chan struct{} // closed by the next give; nil while nobody has asked for it
}

// wait returns a channel that the next give closes.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}

// give wakes all that wait.
func (s *signal) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}
