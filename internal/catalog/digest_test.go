package catalog

import (
	"fmt"
	"strings"
	"testing"
)

// Digests of files are read by the name of their algorithm, in all its forms. A digest with the
// wrong length, or of another algorithm, is ignored.
func TestDigests(t *testing.T) {
	of := func(n int) string { return strings.Repeat("aB", n/2) }
	sum := func(algorithm string, n int) string {
		return fmt.Sprintf(`{"spdx:algorithm": %s, "spdx:checksumValue": "%s"}`, algorithm, of(n))
	}
	dcat := func(sums ...string) string {
		return `{"@type": "dcat:Dataset", "dct:title": "T", "dcat:distribution": {"@type": "dcat:Distribution", "dcat:downloadURL": "https://d.example/t.csv", "spdx:checksum": [` + strings.Join(sums, ",") + `]}}`
	}
	pack := func(hash string) string {
		return `{"name": "p", "resources": [{"name": "a", "path": "t.csv", "hash": "` + hash + `"}]}`
	}
	ckan := func(hash string) string {
		return `{"success": true, "result": {"name": "x", "title": "T", "resources": [{"url": "https://d.example/t.csv", "hash": "` + hash + `"}]}}`
	}
	for _, c := range []struct{ body, want string }{
		{dcat(sum(`{"@id": "spdx:checksumAlgorithm_sha1"}`, 40), sum(`{"@id": "http://spdx.org/rdf/terms#checksumAlgorithm_sha512"}`, 128)), "512 1"},
		{dcat(sum(`"SHA-256"`, 64), sum(`"SHA3-256"`, 64), sum(`"MD5"`, 64), sum(`"sha256"`, 40)), "256"},
		{dcat(sum(`"SHA3-512"`, 128), sum(`"sha512/256"`, 64), sum(`"sha384"`, 96)), ""},
		{pack("sha1:" + of(40)), "1"},
		{pack("SHA512:" + of(128)), "512"},
		{pack(of(32)), "md5"},
		{pack(of(40)), ""},
		{pack("sha1:" + of(64)), ""},
		{ckan(of(40)), "1"},
		{ckan(of(128)), "512"},
		{ckan("sha256:" + of(64)), "256"},
		{ckan("sha384:" + of(96)), ""},
	} {
		claims := read(t, page1, c.body)
		if len(claims) != 1 || len(claims[0].Files) != 1 {
			t.Errorf("%s: %+v", c.body, claims)
			continue
		}
		f, got := claims[0].Files[0], ""
		for _, d := range []struct {
			name, digest string
			size         int
		}{{"512", f.SHA512, 128}, {"256", f.SHA256, 64}, {"1", f.SHA1, 40}, {"md5", f.MD5, 32}} {
			if d.digest == strings.ToLower(of(d.size)) {
				got += " " + d.name
			} else if d.digest != "" {
				t.Errorf("%s: %s is %q", c.body, d.name, d.digest)
			}
		}
		if got = strings.TrimSpace(got); got != c.want {
			t.Errorf("%s: %q, want %q", c.body, got, c.want)
		}
	}
}
