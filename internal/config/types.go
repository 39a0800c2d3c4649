package config

import (
	"log/slog"

	"github.com/curtsy/curtsy/internal/settings"
)

// Size is a number of bytes. In text it may carry a unit: 10MiB, 64KB, 4096.
type Size = settings.Size

// Secret is text that does not appear in logs, errors or dumps.
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
