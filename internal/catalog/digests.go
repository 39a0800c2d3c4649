package catalog

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/curtsy/curtsy/internal/catalog/written"
	"github.com/curtsy/curtsy/internal/crawl"
)

// Digests of files, in the forms in which publishers write them. A digest of an unsupported
// algorithm, or with a length that does not fit its algorithm, is left out.

// algorithms are the digests that are read: their names without hyphens, and their sizes in bytes.
var algorithms = []struct {
	name string
	size int
	of   func(*crawl.DatasetFile) *string
}{
	{"sha512", 64, func(f *crawl.DatasetFile) *string { return &f.SHA512 }},
	{"sha256", 32, func(f *crawl.DatasetFile) *string { return &f.SHA256 }},
	{"sha1", 20, func(f *crawl.DatasetFile) *string { return &f.SHA1 }},
	{"md5", 16, func(f *crawl.DatasetFile) *string { return &f.MD5 }},
}

// maxDigest is how long the text of a digest may be, with its algorithm and a file name.
const maxDigest = 512

// takeDigests stores the digests that the description of a file gives.
func takeDigests(r *jsonReader, f *crawl.DatasetFile, n node) {
	for _, a := range algorithms {
		for _, s := range r.texts(n.keys[a.name]) {
			takeDigest(f, a.name, s)
		}
	}
	for _, name := range []string{"checksum", "hash", "digest", "integrity"} {
		for _, v := range r.list(n.keys[name]) {
			takeChecksum(r, f, v, r.textOf(n, "checksumAlgorithm", "hashAlgorithm", "hash_algorithm"))
		}
	}
	for _, name := range []string{"identifier", "additionalProperty"} {
		for _, v := range r.list(n.keys[name]) {
			if p, ok := r.node(v); ok {
				if algorithm := r.textOf(p, "propertyID", "name"); algorithm != "" {
					takeDigest(f, algorithm, r.text(p.keys["value"]))
				}
			}
		}
	}
	for _, name := range []string{"identifier", "sameAs", "contentUrl", "downloadURL", "url", "@id"} {
		for _, s := range r.texts(n.keys[name]) {
			if isDigestURI(s) {
				takeDigest(f, "", s)
			}
		}
	}
}

// takeChecksum stores a digest that is a text, or a node (spdx:Checksum, PropertyValue) with an
// algorithm and a value.
func takeChecksum(r *jsonReader, f *crawl.DatasetFile, v any, algorithm string) {
	n, ok := r.node(v)
	if !ok {
		takeDigest(f, algorithm, r.text(v))
		return
	}
	if own := r.textOf(n, "algorithm", "checksumAlgorithm", "propertyID", "name"); own != "" {
		algorithm = own
	}
	takeDigest(f, algorithm, r.textOf(n, "checksumValue", "value", "notation"))
}

// isDigestURI reports whether a text is the URI of a digest.
func isDigestURI(s string) bool {
	for _, scheme := range []string{"hash://", "ni://", "urn:hash:", "urn:sha", "urn:md5:"} {
		if written.HasPrefixFold(s, scheme) {
			return true
		}
	}
	return false
}

// takeDigest stores a digest, unless the file already has one of the same algorithm. The value may
// name its algorithm: "sha256:…", "SHA-256=…", hash://sha256/… Otherwise it is of the given
// algorithm, whose name may have several forms: "SHA-256", spdx:checksumAlgorithm_sha256. If
// neither names one, the number of hexadecimal digits decides.
func takeDigest(f *crawl.DatasetFile, algorithm, value string) {
	if len(value) > maxDigest {
		return
	}
	value = withoutScheme(strings.Trim(value, " \t\r\n\"'"))
	for _, a := range algorithms {
		text, named := cutAlgorithm(value, a.name)
		unnamed := algorithm == "" && len(value) == 2*a.size
		if !named && !unnamed && (algorithm == "" || !isAlgorithm(algorithm, a.name)) {
			continue
		}
		if sum := decodeDigest(text, a.size, named || !unnamed); sum != "" {
			if to := a.of(f); *to == "" {
				*to = sum
			}
			return
		}
	}
}

// withoutScheme removes the scheme of the URI of a digest: hash://sha256/…, ni:///sha-256;…,
// urn:sha1:…
func withoutScheme(s string) string {
	for _, scheme := range []string{"hash://", "urn:hash::", "urn:hash:", "urn:"} {
		if written.HasPrefixFold(s, scheme) {
			s = s[len(scheme):]
			break
		}
	}
	if written.HasPrefixFold(s, "ni://") {
		_, s, _ = strings.Cut(s[len("ni://"):], "/")
	}
	s, _, _ = strings.Cut(s, "?")
	return s
}

// cutAlgorithm removes the name of an algorithm and the separator after it. It returns s itself if
// s does not begin with that name.
func cutAlgorithm(s, name string) (rest string, ok bool) {
	rest = s
	for _, c := range []byte(name) {
		for rest != "" && (rest[0] == '-' || rest[0] == '_') {
			rest = rest[1:]
		}
		if rest == "" || rest[0]|0x20 != c|0x20 {
			return s, false
		}
		rest = rest[1:]
	}
	if rest == "" || !strings.ContainsRune(":=/;-_ \t", rune(rest[0])) {
		return s, false
	}
	return strings.TrimLeft(rest, ":=/;-_ \t"), true
}

// decodeDigest returns a digest of a number of bytes in lower-case hexadecimal. s is hexadecimal, a
// file name may follow as in the output of sha256sum; or, if encoded, Base64 with either alphabet,
// or Base32 for SHA-1.
func decodeDigest(s string, size int, encoded bool) string {
	s, _, _ = strings.Cut(s, " ")
	s = strings.TrimSuffix(strings.TrimPrefix(s, "0x"), ":") // a colon ends it in Content-Digest
	if sum := digest(s, 2*size); sum != "" || !encoded {
		return sum
	}
	if size == 20 && len(s) == 32 {
		if b, err := base32.StdEncoding.DecodeString(strings.ToUpper(s)); err == nil {
			return hex.EncodeToString(b)
		}
	}
	s = strings.TrimRight(s, "=")
	if len(s) != base64.RawStdEncoding.EncodedLen(size) {
		return ""
	}
	s = strings.NewReplacer("-", "+", "_", "/").Replace(s)
	b, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil || len(b) != size {
		return ""
	}
	return hex.EncodeToString(b)
}

// digest returns s in lower case if it is n hexadecimal digits.
func digest(s string, n int) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if len(s) != n || strings.Trim(s, "0123456789abcdef") != "" {
		return ""
	}
	return s
}

// isAlgorithm reports whether a text ends with the name of an algorithm, ignoring hyphens and
// underscores in it.
func isAlgorithm(s, name string) bool {
	for ; name != ""; s = s[:len(s)-1] {
		switch n := len(s); {
		case n == 0:
			return false
		case s[n-1] == '-' || s[n-1] == '_':
		case s[n-1]|0x20 == name[len(name)-1]|0x20:
			name = name[:len(name)-1]
		default:
			return false
		}
	}
	return true
}
