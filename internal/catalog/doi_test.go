package catalog

import (
	"net/url"
	"strings"
	"testing"
)

// DOIs in the spellings of publishers. The address is the one of the DOI Handbook (§2.6.2 and
// §3.8).
func TestDOI(t *testing.T) {
	const rain = "https://doi.org/10.1234/rain"
	for in, want := range map[string]string{
		"10.1234/AB.c": "https://doi.org/10.1234/ab.c", "10.1234/rain": rain, " doi:10.1234/rain": rain, "DOI: 10.1234/rain": rain, "doi: 10.1234/rain ": rain, "DOI 10.1234/rain": rain,
		"http://dx.doi.org/10.1234/rain": rain, "https://dx.doi.org/10.1234/rain": rain, "https://www.doi.org/10.1234/rain": rain, "http://WWW.DOI.org/10.1234/rain": rain,
		"doi.org/10.1234/rain": rain, "dx.doi.org/10.1234/rain": rain, "info:doi/10.1234/rain": rain, "urn:doi:10.1234/rain": rain, "https://doi.org/doi:10.1234/rain": rain,
		"https://doi.org/https://doi.org/10.1234/rain": rain, "https://doi.org/10.1234%2Frain": rain, "https://doi.org/10.1234/rain/": rain, "https://doi.org/10.1234/rain?x=1#y": rain,
		"10.1234/rain.": rain, "10.1234/rain,": rain, "10.1234/rain);": rain, "<https://doi.org/10.1234/rain>": rain, "10.1234/rain\u200b": rain, "10.1234/r%61in": rain,
		"10.1000.10/123": "https://doi.org/10.1000.10/123", "10.1234/a(b)": "https://doi.org/10.1234/a(b)", "10.1234/a[b]c": "https://doi.org/10.1234/a%5Bb%5Dc",
		"https://doi.org/10.1002/(SICI)1096-8644(199601)99:1<1::AID>3.0.CO;2-1": "https://doi.org/10.1002/(sici)1096-8644(199601)99:1%3C1::aid%3E3.0.co;2-1",
		"https://doi.org/10.1002/(SICI)1096-8644(199601)99:1%3C1::AID%3E3.0.CO": "https://doi.org/10.1002/(sici)1096-8644(199601)99:1%3C1::aid%3E3.0.co",
		"10.1234/größe": "https://doi.org/10.1234/gr%C3%B6%C3%9Fe", "10.1234/a#b": "https://doi.org/10.1234/a%23b", "10.1234/a%": "https://doi.org/10.1234/a%25",
		"": "", "10.1234": "", "10.1234/": "", "10.1234/.": "", "https://d.example/10.1234/x": "", "10.1/x": "", "10.1234/a b": "", "10.abcd/x": "", "see 10.1234/x": "", "11.1234/x": "",
		"https://doi.org/": "", "hdl:10.1234/x": "", "https://hdl.handle.net/10.1234/x": "", "https://n2t.net/ark:/12345/x": "", "doi:": "", "https://zenodo.org/records/1": "",
	} {
		if got := DOI(in); got != want {
			t.Errorf("DOI(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWaysOfIdentifiers(t *testing.T) {
	const doi = "https://doi.org/10.5281/zenodo.1"
	for in, want := range map[string]string{
		`"identifier": "https://www.doi.org/10.5281/zenodo.1"`: doi, `"url": "https://doi.org/10.5281/zenodo.1"`: doi, `"sameAs": ["https://x.example/1", "doi:10.5281/ZENODO.1"]`: doi,
		`"identifier": {"@type": "PropertyValue", "propertyID": "DOI", "value": "10.5281/zenodo.1"}`:                           doi,
		`"identifier": {"@type": "PropertyValue", "name": "DOI: 10.5281/zenodo.1"}`:                                            doi,
		`"identifier": {"@type": "PropertyValue", "propertyID": "x", "value": "7", "url": "https://doi.org/10.5281/zenodo.1"}`: doi,
		`"identifier": {"@list": ["7", {"@value": "10.5281/zenodo.1"}]}`:                                                       doi,
		`"identifier": {"@id": "https://doi.org/10.5281/zenodo.1", "@type": "PropertyValue", "value": "7"}`:                    doi,
		`"@id": "https://doi.org/10.5281/zenodo.1", "identifier": "https://x.example/1"`:                                       doi,
		`"adms:identifier": {"skos:notation": {"@type": "xsd:anyURI", "@value": "https://doi.org/10.5281/zenodo.1"}}`:          doi,
		`"doi": "10.5281/zenodo.1"`:                             doi,
		`"identifier": "https://n2t.net/ark:/12345/x"`:          "https://n2t.net/ark:/12345/x",
		`"identifier": "https://hdl.handle.net/11234/1-1"`:      "https://hdl.handle.net/11234/1-1",
		`"identifier": "local-7", "url": "https://d.example/x"`: "",
		`"identifier": 7`: "",
		`"identifier": {"@type": "PropertyValue", "value": "local"}`:    "",
		`"identifier": ["https://x.example/1", "https://x.example/2"]`:  "https://x.example/1",
		`"identifier": "hash://sha256/` + strings.Repeat("0", 64) + `"`: "",
		`"identifier": "_:b0"`: "",
	} {
		if got := one(t, in).ID; got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	// A DOI is not the page for people when the description stands in one.
	if c := one(t, `"url": "https://doi.org/10.5281/zenodo.1"`); c.Page != page1.URL {
		t.Errorf("page %q", c.Page)
	}
}

// Addresses as browsers request them, by the URL standard.
func TestResolve(t *testing.T) {
	base, err := url.Parse("https://d.example/sets/rain.html?a=b")
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"f.csv": "https://d.example/sets/f.csv", "/f.csv": "https://d.example/f.csv", "//x.example/f": "https://x.example/f", "?q": "https://d.example/sets/rain.html?q", "./f": "https://d.example/sets/f",
		"../f": "https://d.example/f", "../../../f": "https://d.example/f", "/a/%2e%2E/f": "https://d.example/f", "/a/.": "https://d.example/a/", "/a/..": "https://d.example/",
		"#x": "https://d.example/sets/rain.html?a=b", "http://x.example": "http://x.example/", "http://X.Example:80/F": "http://x.example/F", "https://x.example:8443/f?": "https://x.example:8443/f?",
		"/%zz.csv": "https://d.example/%zz.csv", "/100%": "https://d.example/100%", "/a%2bb": "https://d.example/a%2bb", "/a%2Bb": "https://d.example/a%2Bb", "/%7Ex": "https://d.example/%7Ex",
		"/a b": "https://d.example/a%20b", " /a\t\nb ": "https://d.example/ab", `\a\b`: "https://d.example/a/b", `http:\\x.example\f`: "http://x.example/f", "/ü": "https://d.example/%C3%BC",
		"/f?q=ü x'": "https://d.example/f?q=%C3%BC%20x%27", "/f?a|b": "https://d.example/f?a|b", "/a|b^c": "https://d.example/a|b%5Ec", "/a<b>": "https://d.example/a%3Cb%3E", "/f?x=%zz": "https://d.example/f?x=%zz",
		"https:f.csv": "https://d.example/sets/f.csv", "HTTPS://x.example/f": "https://x.example/f", "http://bücher.example/f": "http://xn--bcher-kva.example/f", "/f#g?h": "https://d.example/f",
		"/a;b=c@d:e": "https://d.example/a;b=c@d:e", "f:g": "", "": "", " ": "", "ftp://x.example/f": "", "mailto:a@x.example": "", "http://u:p@x.example/": "", "http://": "", "http:///": "", "javascript:x": "",
		"/" + strings.Repeat("x", maxAddress-1): "https://d.example/" + strings.Repeat("x", maxAddress-1), "/" + strings.Repeat("x", maxAddress): "",
	} {
		if got := resolve(base, in); got != want {
			t.Errorf("%.50q: %.80q, want %.80q", in, got, want)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"f.csv", "//x/%zz", `\\x\..\f?a'b`, "https:../x", "http://[::1]:80/ü"} {
		f.Add(s)
	}
	base, _ := url.Parse("https://d.example/sets/rain.html?a=b")
	f.Fuzz(func(t *testing.T, ref string) {
		u := resolve(base, ref)
		if u == "" {
			return
		}
		if again := resolve(base, u); again != u && len(u) <= maxAddress {
			t.Errorf("%q: %q, and that is %q", ref, u, again)
		}
		if strings.ContainsAny(u, " #\"<>\\\t\n") && !strings.Contains(u, "?") || hostOf(u) == "" {
			t.Errorf("%q: %q", ref, u)
		}
	})
}

func FuzzDOI(f *testing.F) {
	for _, s := range []string{"10.1234/a", "doi:10.1234/a%3Cb", "https://doi.org/10.1002/(SICI)1:1<1::A>3.0;2-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if doi := DOI(s); doi != "" && (DOI(doi) != doi || !isURL(doi)) {
			t.Errorf("%q: %q, and that is %q", s, doi, DOI(doi))
		}
	})
}
