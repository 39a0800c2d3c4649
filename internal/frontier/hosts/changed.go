package hosts

// A host in memory is changed only by methods of this package. Each method names something that
// happens to a host or an origin, changes all fields that follow from it, and marks the host as
// changed: its record is written with the next commit, and its position in the schedule is found
// anew when the event, tick or grant is done. A host that was only read (Peek, HostsFrom,
// HostsNumbered) belongs to no ledger, and must not be changed.

// belongTo makes h a host of a ledger, because it is in memory from now on.
func (h *Host) belongTo(s *Ledger) {
	h.ledger = s
	for i := range h.Origins {
		h.Origins[i].host = h
	}
}

// changed marks h as changed.
func (h *Host) changed() { h.ledger.MarkDirty(h) }

// changed marks the host of o as changed.
func (o *Origin) changed() { o.host.changed() }

// MarkDirty marks a host as changed: its record must be written, and its position in the schedule
// may be different.
func (s *Ledger) MarkDirty(h *Host) {
	s.Unschedule(h)
	if !h.dirty {
		h.dirty = true
		s.Changed()
		s.dirty = append(s.dirty, h)
	}
}
