package written

import (
	"net/url"
	"strings"
	"testing"
)

// DOIs in the spellings of publishers. The address is the one of the DOI Handbook (sections 2.6.2
// and 3.8).
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
		"/" + strings.Repeat("x", MaxAddress-1): "https://d.example/" + strings.Repeat("x", MaxAddress-1), "/" + strings.Repeat("x", MaxAddress): "",
	} {
		if got := Resolve(base, in); got != want {
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
		u := Resolve(base, ref)
		if u == "" {
			return
		}
		if again := Resolve(base, u); again != u && len(u) <= MaxAddress {
			t.Errorf("%q: %q, and that is %q", ref, u, again)
		}
		if strings.ContainsAny(u, " #\"<>\\\t\n") && !strings.Contains(u, "?") || !strings.HasPrefix(u, "http") {
			t.Errorf("%q: %q", ref, u)
		}
	})
}

func isAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.String() == s
}

func FuzzDOI(f *testing.F) {
	for _, s := range []string{"10.1234/a", "doi:10.1234/a%3Cb", "https://doi.org/10.1002/(SICI)1:1<1::A>3.0;2-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if doi := DOI(s); doi != "" && (DOI(doi) != doi || !isAddress(doi)) {
			t.Errorf("%q: %q, and that is %q", s, doi, DOI(doi))
		}
	})
}
