package config

import (
	"errors"
	"log/slog"
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

// Secret is text that never shows itself in logs, errors or dumps.
type Secret string

const masked = "[secret]"

// String hides the secret; convert to string to use it.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the secret from JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
