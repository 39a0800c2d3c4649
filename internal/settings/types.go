package settings

import (
	"errors"
	"strconv"
	"strings"

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

// Off is a switch that a spec stores the other way round: crawl.Spec has NoLinks, and people write
// links. So the zero value of the field is the default. String writes it as people do.
type Off bool

// String is "true" if the switch is on, which an Off stores as false.
func (o Off) String() string { return strconv.FormatBool(!bool(o)) }
