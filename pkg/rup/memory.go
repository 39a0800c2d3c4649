package rup

import (
	"context"
	"maps"
	"sync"
)

// MemoryStore is a Store in memory, for tests and experiments: its data ends with the process. Its
// zero value is empty and ready to use. It may be used concurrently.
type MemoryStore struct {
	mu  sync.RWMutex // guards all
	all memory
}

// View implements Store.
func (m *MemoryStore) View(_ context.Context, f func(Registrations) error) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return f(m.all)
}

// Update implements Store.
func (m *MemoryStore) Update(_ context.Context, f func(Registrations) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := maps.Clone(m.all)
	if next == nil {
		next = memory{}
	}
	if err := f(next); err != nil {
		return err
	}
	m.all = next
	return nil
}

type memory map[string]Registration

func (m memory) Get(emailKey string) (Registration, bool, error) {
	r, ok := m[emailKey]
	return r, ok, nil
}

func (m memory) Put(r Registration) error {
	m[EmailKey(r.Email)] = r
	return nil
}

func (m memory) Delete(emailKey string) error {
	delete(m, emailKey)
	return nil
}

func (m memory) Count(domain string) (n int, err error) {
	for key := range m {
		if domain == "" || EmailDomain(key) == domain || Mailbox(key) == domain {
			n++
		}
	}
	return n, nil
}
