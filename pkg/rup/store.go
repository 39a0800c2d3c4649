package rup

import (
	"context"
	"time"
)

// Registration is what a site stores about a robot.
type Registration struct {
	ID          string    `json:"id"` // random, not secret; stays the same when the address changes
	Email       string    `json:"email"`
	KeyHash     []byte    `json:"key_hash"` // SHA-256 of the key; the key itself is not stored
	Latency     Latency   `json:"latency"`
	Exclude     []string  `json:"exclude,omitempty"`
	IncludeOnly []string  `json:"include_only,omitempty"`
	Registered  time.Time `json:"registered"`
	Sequence    int64     `json:"sequence"` // number of the last mailed report
	// Pending: the address is not confirmed yet. Nothing may be mailed to it except the question,
	// which was sent at Asked. Used only with ServerOptions.Confirm.
	Pending bool      `json:"pending,omitempty"`
	Asked   time.Time `json:"asked,omitzero"`
}

// Store stores registrations. Both methods pass f a consistent view. If f returns an error, all of
// its changes are undone and the error is returned.
type Store interface {
	View(ctx context.Context, f func(Registrations) error) error
	Update(ctx context.Context, f func(Registrations) error) error
}

// Registrations is a Store within one transaction. Addresses have the form of EmailKey.
type Registrations interface {
	Get(emailKey string) (r Registration, ok bool, err error)
	// Put adds or replaces the registration under EmailKey(r.Email).
	Put(r Registration) error
	Delete(emailKey string) error
	// Count counts registrations with addresses in a domain, as EmailDomain returns it, or of one
	// mailbox, as Mailbox returns it, or all of them for "".
	Count(domain string) (int, error)
}

// Index is a site's log of modifications.
type Index interface {
	// Changes calls yield for the changes at or after since. If yield returns an error, Changes
	// stops and returns it. URLs are absolute and within the site. A URL that has changed several
	// times may occur several times.
	Changes(ctx context.Context, since time.Time, yield func(Entry) error) error
}
