package config

import (
	"errors"
	"fmt"
	"os"

	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/pkg/botauth"
)

// Sign says whether requests are signed, and as which agent. These settings belong to the process.
// They are not stored with a crawl, so they must be given again when it is resumed.
type Sign struct {
	SignKey   string `key:"sign-key" group:"Access" usage:"sign https requests with the Ed25519 key in ‹FILE› (curtsy identity --new-key makes one)" example:"sign.pem"`
	SignAgent string `key:"sign-agent" group:"Access" usage:"sign as the agent whose keys are published at ‹URL›" example:"https://bot.example.org"`
	SignForm  string `key:"sign-form" group:"Access" usage:"name the agent in this ‹FORM›: {}" choices:"string dictionary jwks" example:"string"`
}

func newSign() Sign { return Sign{SignForm: string(botauth.Forms[0])} }

func (s Sign) check(src *Source) error {
	if err := src.refuseOther("sign-form", "is not a form"); err != nil {
		return err
	}
	switch {
	case s.SignKey == "" && s.SignAgent == "":
		return nil
	case s.SignKey == "":
		return src.Refuse("sign-agent", "needs sign-key too; to make one: curtsy identity --new-key sign.pem")
	case s.SignAgent == "":
		return src.Refuse("sign-key", "needs sign-agent too, the address where the key is published, for example https://bot.example.org")
	}
	if _, err := botauth.ParseAgent(s.SignAgent, botauth.Form(s.SignForm)); err != nil {
		return src.Refuse("sign-agent", "cannot be used: "+err.Error())
	}
	if _, err := ReadKey(s.SignKey); err != nil {
		return src.Refuse("sign-key", "cannot be used: "+err.Error())
	}
	return nil
}

// Signer returns the signer of requests, or nil if requests are not signed.
func (s Sign) Signer() (*botauth.Signer, error) {
	if s.SignKey == "" {
		return nil, nil
	}
	key, err := ReadKey(s.SignKey)
	if err != nil {
		return nil, refuse("sign-key: %q cannot be used: %v", s.SignKey, err)
	}
	return botauth.NewSigner(key, s.SignAgent, botauth.Form(s.SignForm))
}

// ReadKey reads a private key from a file. Whoever has the key can send requests in our name, so a
// file is refused that anybody but its owner and group can read, or that anybody but its owner can
// write.
func ReadKey(name string) (*botauth.Key, error) {
	body, err := credentials.ReadPrivate(name, botauth.MaxKeyFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the file does not exist; to make a key: curtsy identity --new-key %s", name)
	}
	if err != nil {
		return nil, err
	}
	return botauth.ParseKey(body)
}
