package site

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"

	"github.com/curtsy/curtsy/pkg/robots"
)

// open returns a function that reports which paths of the site are open to everybody by its
// robots.txt. Paths begin with a slash. Without a file all are open. A file that cannot be read is
// an error: then nothing is listed, because it could be private.
func open(name string, base *url.URL) (func(path string) bool, error) {
	body, err := readRobots(name)
	if errors.Is(err, fs.ErrNotExist) {
		return func(string) bool { return true }, nil
	}
	if err != nil {
		return nil, fmt.Errorf("robots.txt: %w", err)
	}
	rules := robots.Parse(body).Rules("*", robots.Origin{Scheme: base.Scheme, Host: base.Hostname(), Port: portOf(base)})
	return func(path string) bool { return rules.Match(path).Allowed }, nil
}

func readRobots(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, robots.MaxBytes+2)) // two more: the file is larger
}
