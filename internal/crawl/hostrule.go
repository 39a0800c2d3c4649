package crawl

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// HostRule is what the operator says of one host. The zero rule says nothing.
type HostRule struct {
	// Paused: nothing is asked of the host until it is resumed. Its URLs stay queued.
	Paused bool `json:"paused,omitempty"`
	// Delay is the least time from the end of a response to the next request. It only ever adds to
	// what the crawl's settings, the site and our back-off ask for.
	Delay time.Duration `json:"delay,omitempty"`
}

// Limits of Spec.Hosts: the spec is one message.
const (
	MaxHostRules     = 10_000
	MaxHostRuleBytes = 384 << 10 // of names, and of what stands beside each
	hostRuleBytes    = 48        // beside a name, at most
	// MaxHostDelay is the longest delay an operator may set; whoever wants more pauses the host.
	MaxHostDelay = 10 * time.Minute
)

// ErrHostRulesFull says that no further host can have a rule of its own.
var ErrHostRulesFull = errors.New("too many single hosts are paused or have their own delay")

// WithHost returns the spec with the rule of a host changed. changed is false when that makes no
// difference. The error says what is wrong with the new rule, or that there are too many.
func (s Spec) WithHost(host canon.Host, change func(HostRule) HostRule) (next Spec, changed bool, err error) {
	old, had := s.Hosts[host]
	rule := change(old)
	switch {
	case rule == old:
		return s, false, nil
	case rule.Delay < 0 || rule.Delay > MaxHostDelay:
		return s, false, fmt.Errorf("a delay of %v is not possible: use 0 to %v, or pause the host", rule.Delay, MaxHostDelay)
	}
	next = s
	next.Hosts = maps.Clone(s.Hosts)
	if rule == (HostRule{}) {
		delete(next.Hosts, host)
		return next, true, nil
	}
	if !had {
		size := len(host) + hostRuleBytes
		for h := range s.Hosts {
			size += len(h) + hostRuleBytes
		}
		if len(s.Hosts) >= MaxHostRules || size > MaxHostRuleBytes {
			return s, false, fmt.Errorf("%w: the limit is %d hosts and %d KiB in total; resume some hosts, or exclude hosts with --exclude",
				ErrHostRulesFull, MaxHostRules, MaxHostRuleBytes>>10)
		}
	}
	if next.Hosts == nil {
		next.Hosts = map[canon.Host]HostRule{}
	}
	next.Hosts[host] = rule
	return next, true, nil
}

// Halts reports that no request may be sent to a host under a visit that was granted with this
// delay: the crawl or the host is paused, or the host, or every host, is to be left alone for
// longer.
func (s *Spec) Halts(host canon.Host, granted time.Duration) bool {
	rule := s.Hosts[host]
	return s.Paused || rule.Paused || max(rule.Delay, s.Delay) > granted
}
