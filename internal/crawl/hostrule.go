package crawl

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// HostRule is a setting of the operator for one host. The zero rule changes nothing.
type HostRule struct {
	// Paused: no requests are sent to the host until it is resumed. Its URLs stay queued.
	Paused bool `json:"paused,omitempty"`
	// Delay is the smallest time from the end of a response to the next request. It can only make
	// the delay longer that the settings, the site and our back-off require.
	Delay time.Duration `json:"delay,omitempty"`
}

// Limits of Spec.Hosts: the spec is one message.
const (
	MaxHostRules     = 10_000
	MaxHostRuleBytes = 384 << 10 // of names and rules together
	hostRuleBytes    = 48        // of one rule without its name, at most
	// MaxHostDelay is the longest delay that an operator may set. For more the host can be paused.
	MaxHostDelay = 10 * time.Minute
)

// ErrHostRulesFull means that no further host can have a rule.
var ErrHostRulesFull = errors.New("too many single hosts are paused or have their own delay")

// WithHost returns the spec with another rule for a host. changed is false if the rule is the same.
// The error says what is wrong with the rule, or that there are too many rules.
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

// Halts reports that a visit that was granted with this delay must send no more requests to its
// host. Then the crawl or the host is paused, or a longer delay is required now.
func (s *Spec) Halts(host canon.Host, granted time.Duration) bool {
	rule := s.Hosts[host]
	return s.Paused || rule.Paused || max(rule.Delay, s.Delay) > granted
}
