package agenthost

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/settings"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Robot is an entry of the allow-list: an operator of robots, and what its robots may do.
type Robot struct {
	Name     string   // for logs
	Key      string   // as tickets have it
	Subtrees []string // canonical paths that begin and end with "/"
	Quota    Quota    // a day (UTC)
}

// Quota is what the robots with one key may use in a day.
type Quota struct {
	Runs int64         `json:"runs"`
	Read int64         `json:"read"` // octets of documents
	Sent int64         `json:"sent"` // octets of results, compressed
	CPU  time.Duration `json:"cpu"`  // processor time
}

// defaultQuota is the quota of an entry that states none.
var defaultQuota = Quota{Runs: 24, Read: 16 << 30, Sent: 4 << 30, CPU: time.Hour}

// RobotLine returns an entry of the allow-list for a key, as ParseRobot reads it.
func RobotLine(name, key, subtree string) string {
	return "name=" + name + " key=" + key + " subtree=" + subtree
}

// ParseRobot parses an entry of the allow-list: words NAME=VALUE, separated by blanks or commas.
// Name, key and subtree are required; there may be several subtrees.
func ParseRobot(line string) (Robot, error) {
	r := Robot{Quota: defaultQuota}
	seen := map[string]bool{}
	for _, word := range strings.FieldsFunc(line, func(c rune) bool { return c == ' ' || c == '\t' || c == ',' }) {
		name, value, ok := strings.Cut(word, "=")
		if !ok || value == "" {
			return Robot{}, fmt.Errorf("%q is not NAME=VALUE", word)
		}
		if seen[name] && name != "subtree" {
			return Robot{}, fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
		if err := r.set(name, value); err != nil {
			return Robot{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range []string{"name", "key", "subtree"} {
		if !seen[name] {
			return Robot{}, fmt.Errorf("%s is missing; use for example %s", name, RobotLine("example-crawler", "BASE64", "/docs/"))
		}
	}
	return r, nil
}

func (r *Robot) set(name, value string) (err error) {
	switch name {
	case "name":
		r.Name = value
		if len(value) > 64 {
			err = errors.New("use at most 64 characters")
		}
	case "key":
		r.Key = value
		_, err = mobile.ParseKey(value)
	case "subtree":
		r.Subtrees = append(r.Subtrees, value)
		if !isSubtree(value) {
			err = fmt.Errorf("%q is not a path that begins and ends with /, as URLs have it", value)
		}
	case "runs":
		r.Quota.Runs, err = strconv.ParseInt(value, 10, 32)
		if err != nil || r.Quota.Runs < 1 {
			err = errors.New("use a number, for example 24")
		}
	case "read":
		r.Quota.Read, err = octets(value)
	case "sent":
		r.Quota.Sent, err = octets(value)
	case "cpu":
		r.Quota.CPU, err = time.ParseDuration(value)
		if err != nil || r.Quota.CPU < time.Second {
			err = errors.New("use a time of a second or more, for example 1h")
		}
	default:
		err = errors.New("unknown; the names are name, key, subtree, runs, read, sent and cpu")
	}
	return err
}

func octets(value string) (int64, error) {
	var size settings.Size
	if err := size.UnmarshalText([]byte(value)); err != nil || size < 1 {
		return 0, errors.New("use a size, for example 2GiB")
	}
	return int64(size), nil
}

// isSubtree reports whether a path is canonical and one of a directory.
func isSubtree(path string) bool {
	if !strings.HasPrefix(path, "/") || !strings.HasSuffix(path, "/") {
		return false
	}
	u, err := canon.Parse("https://host.invalid" + path)
	return err == nil && u.PathQuery() == path && !strings.Contains(path, "//")
}

// mayRead reports whether a subtree is one of the robot's or below one.
func (r *Robot) mayRead(subtree string) bool {
	for _, s := range r.Subtrees {
		if strings.HasPrefix(subtree, s) {
			return true
		}
	}
	return false
}
