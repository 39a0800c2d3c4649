package config

import (
	"errors"
	"fmt"
	"os"

	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/pkg/botauth"
)

// Robots says with which key mobile robots are sent. The setting belongs to the process. It is not
// stored with a crawl, so it must be given again when that is resumed.
type Robots struct {
	MobileRobots string `key:"mobile-robots" group:"Access" usage:"send mobile robots, signed with the key in ‹FILE›, to sites that accept them (curtsy agenthost key makes one)" example:"robot.pem"`
}

func (r Robots) check(src *Source) error {
	if _, err := r.RobotKey(); err != nil {
		return src.Refuse("mobile-robots", "cannot be used: "+err.Error())
	}
	return nil
}

// RobotKey returns the key of mobile robots, or nil if none are sent.
func (r Robots) RobotKey() (*botauth.Key, error) {
	if r.MobileRobots == "" {
		return nil, nil
	}
	body, err := credentials.ReadPrivate(r.MobileRobots, botauth.MaxKeyFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the file does not exist; to make a key: curtsy agenthost key %s", r.MobileRobots)
	}
	if err != nil {
		return nil, err
	}
	return botauth.ParseKey(body)
}
