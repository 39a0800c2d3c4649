package pages

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/curtsy/curtsy/pkg/canon"
)

// appendKey appends the key of a URL: host, NUL, 'h' or 's' for the scheme, the port if it is
// written, then path and query. Pages of a host are therefore neighbours, and so are those of an
// origin within it. The key is the URL in another order; parseKey reverses it.
func appendKey(dst []byte, u canon.URL) []byte {
	dst = append(dst, u.Host()...)
	dst = append(dst, 0)
	if u.Scheme() == "https" {
		dst = append(dst, 's')
		if p := u.Port(); p != 443 {
			dst = strconv.AppendInt(append(dst, ':'), int64(p), 10)
		}
	} else {
		dst = append(dst, 'h')
		if p := u.Port(); p != 80 {
			dst = strconv.AppendInt(append(dst, ':'), int64(p), 10)
		}
	}
	return append(dst, u.PathQuery()...)
}

// parseKey returns the URL of a key, "" if it is no key.
func parseKey(key []byte) canon.URL {
	i := bytes.IndexByte(key, 0)
	if i < 0 || i+1 >= len(key) {
		return ""
	}
	scheme := "http://"
	if key[i+1] == 's' {
		scheme = "https://"
	}
	b := make([]byte, 0, len(key)+len(scheme))
	b = append(b, scheme...)
	b = append(b, key[:i]...)
	return canon.URL(append(b, key[i+2:]...))
}

// hostPrefix returns the prefix of the keys of a host's pages.
func hostPrefix(h canon.Host) []byte { return append([]byte(h), 0) }

func be64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

// expiryKey has 16 bytes: the time in milliseconds, and the page number, which makes it unique.
func expiryKey(ms int64, id uint64) []byte {
	return binary.BigEndian.AppendUint64(be64(uint64(ms)), id)
}
