package config

import (
	"errors"
	"time"

	"github.com/curtsy/curtsy/internal/settings"
)

// Identity are the settings of `curtsy identity`: what the operator publishes about the crawler.
type Identity struct {
	Contact  string        `key:"contact"`
	Agent    string        `key:"agent" group:"Politeness,common"`
	Delay    time.Duration `key:"delay" group:"Politeness,common" usage:"publish that we wait at least this ‹TIME› between a response of a host and the next request to it" example:"1s"`
	Purposes []string      `key:"purpose" group:"Politeness,common"`
	Sign     `key:",squash"`
	Dir      string        `key:"identity-dir" flag:"dir" group:"Output,common" usage:"write the files into ‹DIR›" example:"./identity"`
	Also     []string      `key:"identity-also" flag:"also" group:"Access,common" usage:"publish the key in ‹FILE› too, while one key replaces the other (repeatable)" example:"old.pem"`
	Ranges   []string      `key:"identity-ranges" flag:"range" group:"Access,common" usage:"address or address range ‹PREFIX› that requests come from (repeatable)" example:"192.0.2.0/28"`
	Valid    time.Duration `key:"identity-valid" flag:"valid" group:"Access,common" usage:"the proof that the keys are yours is valid for this ‹TIME›; write the files again before it ends" example:"720h"`
	Common   `key:",squash"`
}

// NewIdentity has the defaults of `curtsy identity`.
func NewIdentity() *Identity {
	p := newPlan()
	return &Identity{Agent: p.Agent, Delay: p.Delay, Purposes: p.Purposes, Sign: newSign(), Dir: "./identity", Valid: 30 * 24 * time.Hour, Common: newCommon()}
}

func (c *Identity) check(src *Source) error {
	switch {
	case c.Delay < 0:
		return src.Refuse("delay", "is negative; use for example 1s")
	case c.Dir == "":
		return src.Refuse("identity-dir", "is empty; use for example ./identity")
	case c.Valid < time.Hour || c.Valid > 365*24*time.Hour:
		return src.Refuse("identity-valid", "must be 1h to 8760h; use for example 720h")
	}
	typed := settings.Defaults()
	typed.Contact, typed.Agent, typed.Purposes = c.Contact, c.Agent, c.Purposes
	if err := checkSettings(src, &typed); err != nil {
		return err
	}
	c.Purposes = settings.PurposeNames(c.Purposes)
	return errors.Join(c.Sign.check(src), c.Common.check(src))
}
