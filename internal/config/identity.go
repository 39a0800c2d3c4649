package config

import (
	"errors"
	"time"
)

// Identity are the settings of `curtsy identity`: who we are, as it is published.
type Identity struct {
	Contact  string        `key:"contact" usage:"‹MAIL-OR-URL› by which a webmaster reaches you; it goes into the User-Agent" example:"me@example.org"`
	Agent    string        `key:"agent" usage:"product ‹TOKEN› that robots.txt knows us by" example:"curtsy"`
	Delay    time.Duration `key:"delay" usage:"least ‹TIME› between a response of a host and the next request to it" example:"1s"`
	Purposes []string      `key:"purpose" usage:"‹WORD› for what pages are fetched for: search, ai-input, ai-train or tdm (repeatable)" words:"search ai-input ai-train tdm" example:"search"`
	Sign     `key:",squash"`
	Dir      string        `key:"identity-dir" flag:"dir" usage:"write the files into ‹DIR›" example:"./identity"`
	Also     []string      `key:"identity-also" flag:"also" usage:"publish the key in ‹FILE› beside the one that signs, while one replaces the other (repeatable)" example:"old.pem"`
	Ranges   []string      `key:"identity-ranges" flag:"range" usage:"requests come from this ‹PREFIX›, or address (repeatable)" example:"192.0.2.0/28"`
	Valid    time.Duration `key:"identity-valid" flag:"valid" usage:"the proof that the keys are ours is good for this ‹TIME›; write the files anew before" example:"720h"`
	Common   `key:",squash"`
}

// NewIdentity has the defaults of `curtsy identity`.
func NewIdentity() *Identity {
	p := newPlan()
	return &Identity{Agent: p.Agent, Delay: p.Delay, Purposes: p.Purposes, Sign: newSign(), Dir: "./identity", Valid: 30 * 24 * time.Hour, Common: newCommon()}
}

func (c *Identity) check(src *Source) error {
	switch {
	case !tokenRE.MatchString(c.Agent):
		return src.Refuse("agent", "is no product token; use letters, '-' and '_' only, for example curtsy")
	case c.Delay < 0:
		return src.Refuse("delay", "is negative; use for example 1s")
	case c.Dir == "":
		return src.Refuse("identity-dir", "is empty; use for example ./identity")
	case c.Valid < time.Hour || c.Valid > 365*24*time.Hour:
		return src.Refuse("identity-valid", "must be 1h to 8760h; use for example 720h")
	}
	if err := checkPurposes(src, c.Purposes); err != nil {
		return err
	}
	c.Purposes = purposeNames(c.Purposes)
	return errors.Join(checkContact(src, c.Contact), c.Sign.check(src), c.Common.check(src))
}
