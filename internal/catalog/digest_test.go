package catalog

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
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

// Digests in the forms in which publishers write them, each of the same eight bytes.
func TestWaysOfDigests(t *testing.T) {
	const file = "a,b\n1,2\n"
	s256, s512, s1, m5 := sha256.Sum256([]byte(file)), sha512.Sum512([]byte(file)), sha1.Sum([]byte(file)), md5.Sum([]byte(file))
	s384 := sha512.Sum384([]byte(file))
	replace := strings.NewReplacer("HEX256", hex.EncodeToString(s256[:]), "HEX512", hex.EncodeToString(s512[:]), "HEX384", hex.EncodeToString(s384[:]), "HEX1", hex.EncodeToString(s1[:]),
		"HEX5", hex.EncodeToString(m5[:]), "UPPER256", strings.ToUpper(hex.EncodeToString(s256[:])), "BASE256", base64.StdEncoding.EncodeToString(s256[:]),
		"URL256", base64.RawURLEncoding.EncodeToString(s256[:]), "BASE384", base64.StdEncoding.EncodeToString(s384[:]), "BASE512", base64.StdEncoding.EncodeToString(s512[:]),
		"BASE5", base64.StdEncoding.EncodeToString(m5[:]), "BASE1", base64.StdEncoding.EncodeToString(s1[:]), "B32", base32.StdEncoding.EncodeToString(s1[:]))
	checksum := func(algorithm, value string) string {
		return `"spdx:checksum": {"@type": "spdx:Checksum", ` + algorithm + `, "spdx:checksumValue": ` + value + `}`
	}
	for in, want := range map[string]string{
		`"sha256": "HEX256"`: "256", `"sha256": "UPPER256"`: "256", `"sha256": "sha256:HEX256"`: "256", `"sha256": "SHA-256:UPPER256"`: "256", `"sha256": "0xHEX256"`: "256",
		`"sha256": "BASE256"`: "256", `"sha256": "URL256"`: "256", `"sha256": "sha256-BASE256"`: "256", `"sha256": ["HEX256"]`: "256", `"sha256": {"@value": "HEX256"}`: "256",
		`"sha256": " HEX256 "`: "256", `"sha256": "HEX256  f.csv"`: "256", `"sha256": "HEX5"`: "", `"sha256": "HEX512"`: "", `"sha256": "BASE5"`: "", `"sha256": "main"`: "",
		`"sha256": "md5:HEX5"`: "5", `"sha256": "sha512:HEX256"`: "", `"sha256": "https://d.example/issues/80"`: "", `"sha256": ""`: "", `"sha256": true`: "",
		`"sha512": "HEX512"`: "512", `"sha512": "BASE512"`: "512", `"sha1": "HEX1"`: "1", `"md5": "HEX5"`: "5", `"md5": "md5:HEX5"`: "5", `"md5": "BASE5"`: "5", `"md5": "HEX1"`: "",
		`"checksum": "md5:HEX5"`: "5", `"checksum": "MD5=HEX5"`: "5", `"checksum": "sha-256=BASE256"`: "256", `"checksum": "SHA-256=:BASE256:"`: "256", `"checksum": "HEX256"`: "256",
		`"checksum": "HEX5"`: "5", `"checksum": "BASE256"`: "", `"checksum": "sha1:HEX1"`: "1", `"checksum": "sha1 HEX1"`: "1", `"checksum": "SHA1/HEX1"`: "1", `"checksum": "sha384:HEX384"`: "",
		`"checksum": "sha3-256:HEX256"`: "", `"checksum": "sha512/256:HEX256"`: "", `"checksum": "crc32:12345678"`: "", `"checksum": ["md5:HEX5", "sha256:HEX256"]`: "256 5",
		`"hash": "sha512:HEX512"`: "512", `"digest": "SHA-256=BASE256"`: "256", `"integrity": "sha256-BASE256"`: "256", `"integrity": "sha384-BASE384"`: "", `"integrity": "sha512-BASE512"`: "512",
		`"hash": "HEX1", "hashAlgorithm": "SHA-1"`: "1", `"hash": "HEX256", "hashAlgorithm": "SHA3-256"`: "", `"hash": {"value": "HEX256", "algorithm": "SHA256"}`: "256",
		`"identifier": "hash://sha256/HEX256"`: "256", `"identifier": ["x", "hash://sha256/HEX256?type=text/csv"]`: "256", `"sameAs": "hash://md5/HEX5"`: "5", `"@id": "hash://sha256/HEX256"`: "256",
		`"identifier": "ni:///sha-256;URL256"`: "256", `"identifier": "ni://d.example/sha-256;URL256?ct=text/csv"`: "256", `"identifier": "urn:sha1:B32"`: "1", `"identifier": "urn:md5:HEX5"`: "5",
		`"identifier": "urn:hash::sha256:HEX256"`: "256", `"identifier": "HEX256"`: "", `"identifier": "sha256:HEX256"`: "",
		`"identifier": {"@type": "PropertyValue", "propertyID": "SHA-256", "value": "HEX256"}`:                 "256",
		`"identifier": {"@type": "PropertyValue", "propertyID": "doi", "value": "HEX256"}`:                     "",
		`"additionalProperty": {"@type": "PropertyValue", "name": "checksum-md5", "value": "HEX5"}`:            "5",
		`"sha256": "HEX256", "identifier": "hash://sha256/` + strings.Repeat("0", 64) + `"`:                    "256",
		checksum(`"spdx:checksumAlgorithm": {"@id": "spdx:checksumAlgorithm_sha256"}`, `"HEX256"`):             "256",
		checksum(`"spdx:algorithm": {"@id": "http://spdx.org/rdf/terms#checksumAlgorithm_md5"}`, `"HEX5"`):     "5",
		checksum(`"spdx:algorithm": "http://spdx.org/rdf/terms#checksumAlgorithm_sha1"`, `{"@value": "HEX1"}`): "1",
		checksum(`"spdx:algorithm": "SHA-512"`, `["HEX512"]`):                                                  "512",
		checksum(`"spdx:algorithm": "sha384"`, `"HEX384"`):                                                     "",
		checksum(`"x": 1`, `"sha256:HEX256"`):                                                                  "256",
		`"contentUrl": ["/f.csv", "hash://sha256/HEX256"]`:                                                     "256",
	} {
		in = replace.Replace(in)
		file := in
		if !strings.Contains(in, "contentUrl") {
			file = `"contentUrl": "/f.csv", ` + in
		}
		c := one(t, `"distribution": {`+file+`}`)
		if len(c.Files) != 1 {
			t.Errorf("%s: %+v", in, c.Files)
			continue
		}
		if got := digestsOf(&c.Files[0], s256[:], s512[:], s1[:], m5[:]); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`"hash": "HEX1", "hash_algorithm": "http://spdx.org/rdf/terms#checksumAlgorithm_sha1"`: "1", `"hash": "md5:HEX5"`: "5", `"hash": "HEX256"`: "256", `"hash": ""`: "", `"hash": null`: "",
	} {
		c := only(t, page1, replace.Replace(`{"success": true, "result": {"name": "x", "title": "T", "resources": [{"url": "/f.csv", `+in+`}]}}`))
		if got := digestsOf(&c.Files[0], s256[:], s512[:], s1[:], m5[:]); got != want {
			t.Errorf("CKAN, %s: %q, want %q", in, got, want)
		}
	}
}

// digestsOf names the digests of a file that are right; a wrong one is shown.
func digestsOf(f *crawl.DatasetFile, s256, s512, s1, m5 []byte) string {
	var all []string
	for _, d := range []struct {
		name, has string
		want      []byte
	}{{"512", f.SHA512, s512}, {"256", f.SHA256, s256}, {"1", f.SHA1, s1}, {"5", f.MD5, m5}} {
		if d.has == hex.EncodeToString(d.want) {
			all = append(all, d.name)
		} else if d.has != "" {
			all = append(all, d.name+" is "+d.has)
		}
	}
	return strings.Join(all, " ")
}

func FuzzDigest(f *testing.F) {
	for _, s := range []string{"sha256:" + strings.Repeat("ab", 32), "hash://md5/" + strings.Repeat("0", 32), "sha-256=:" + strings.Repeat("A", 43) + "=:", "ni:///sha-256;x?y"} {
		f.Add("", s)
		f.Add("spdx:checksumAlgorithm_sha256", s)
	}
	f.Fuzz(func(t *testing.T, algorithm, value string) {
		var file crawl.DatasetFile
		takeDigest(&file, algorithm, value)
		for _, a := range algorithms {
			if sum := *a.of(&file); sum != "" && digest(sum, 2*a.size) != sum {
				t.Errorf("%q %q: %s is %q", algorithm, value, a.name, sum)
			}
		}
	})
}
