package shard

import (
	"github.com/curtsy/curtsy/pkg/canon"
)

// IsInFlight reports whether u is in an outstanding visit.
func (s *Account) IsInFlight(u canon.URL) bool {
	h := s.ledger.Hosts[u.Host()] // a host with a visit is in memory
	if h == nil || h.Visit == nil {
		return false
	}
	for _, v := range h.Visit.List {
		if v.URL == u {
			return true
		}
	}
	return false
}
