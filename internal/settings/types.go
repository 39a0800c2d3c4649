package settings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/dustin/go-humanize"
)

// Size is a number of bytes. In text it may carry a unit: 10MiB, 64KB, 4096.
type Size int64

// UnmarshalText reads a size as a person writes it.
func (s *Size) UnmarshalText(text []byte) error {
	n, err := humanize.ParseBytes(strings.TrimSpace(string(text)))
	if err != nil || n > 1<<62 {
		return errors.New("is not a size")
	}
	*s = Size(n)
	return nil
}

// String is the form the example file uses: exact, with the greatest binary unit that divides it.
func (s Size) String() string {
	n, unit := int64(s), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	if unit == "B" {
		return humanize.Comma(n)
	}
	return humanize.Comma(n) + unit
}

// Sites is the text of a file of site rules. People name the file, and ReadSites reads it.
type Sites string

// MaxSites is the largest size of a file of site rules, in bytes.
const MaxSites = 256 << 10

// ReadSites reads a file of site rules and checks it. Without a name there are no rules. Errors say
// what is wrong with the file.
func ReadSites(name string) (Sites, error) {
	if name == "" {
		return "", nil
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSites+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > MaxSites:
		return "", fmt.Errorf("%s has more than %d KiB; leave out the rules of some sites, or use a crawl of their own for them", name, MaxSites>>10)
	}
	if _, err := siterules.Parse(filepath.Base(name), string(text)); err != nil {
		return "", err
	}
	return Sites(text), nil
}

// Off is a switch that a spec stores the other way round: crawl.Spec has NoLinks, and people write
// links. So the zero value of the field is the default. String writes it as people do.
type Off bool

// String is "true" if the switch is on, which an Off stores as false.
func (o Off) String() string { return strconv.FormatBool(!bool(o)) }
