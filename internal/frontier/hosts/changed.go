package hosts

// A host in memory is changed only by methods of this package. Each method names something that
// happens to a host or an origin, changes all fields that follow from it, and marks the host as
// changed: its record is written with the next commit, and its position in the schedule is found
// anew when the event, tick or grant is done. A host that was only read (Peek, HostsFrom,
// HostsNumbered) belongs to no shard, and must not be changed.

// belongTo makes h one of the hosts in memory.
func (h *Host) belongTo(s *Eviction) {
	h.memory = s
	for i := range h.Origins {
		h.Origins[i].host = h
	}
}

// changed marks h as changed.
func (h *Host) changed() { h.memory.MarkDirty(h) }

// changed marks the host of o as changed.
func (o *Origin) changed() { o.host.changed() }

// MarkDirty marks a host as changed: its record must be written, and its position in the schedule
// may be different.
func (s *Eviction) MarkDirty(h *Host) {
	s.places.Unschedule(h)
	if !h.dirty {
		h.dirty = true
		s.file.Changed()
		s.dirty = append(s.dirty, h)
	}
}
