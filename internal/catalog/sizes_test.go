package catalog

import (
	"fmt"
	"strings"
	"testing"
)

func sizes(exact, about *int64) string {
	switch {
	case exact != nil && about != nil:
		return "both"
	case exact != nil:
		return fmt.Sprint(*exact)
	case about != nil:
		return fmt.Sprint("~", *about)
	}
	return ""
}

func TestSizes(t *testing.T) {
	for in, want := range map[string]string{
		"8": "8", "8B": "8", "8 B": "8", "117743B": "117743", "8 bytes": "8", "8 Bytes": "8", "1 byte": "1", "8 octets": "8", "8 o": "8", "8 байт": "8",
		"1,024 bytes": "1024", "1 024 octets": "1024", "1\u00a0024\u202f000 o": "1024000", "1.024 Bytes": "1024", "1'024 B": "1024", "1,234,567": "1234567",
		"5120.0": "5120", "1.5e3": "1500", "8e0": "8", "1.17743E5": "117743", "9007199254740993": "9007199254740993", " 12 ": "12", "0": "0",
		"8.2 MB": "~8200000", "8,2 MB": "~8200000", "8.2MB": "~8200000", "8.2 Mo": "~8200000", "8.2 МБ": "~8200000", "12 KiB": "~12288", "12 kibibytes": "~12288",
		"1 KB": "~1000", "3 MB": "~3000000", "1,024 KB": "~1024000", "1.5 GiB": "~1610612736", "1.024 MB": "~1024000", "1.234,5 KB": "~1234500", "1,234.5 KB": "~1234500",
		"2 megabytes": "~2000000", "2 Gigabyte": "~2000000000", "1 TB": "~1000000000000", "8.2M": "~8200000", "12K": "~12000", "~8 MB": "~8000000", "ca. 8 MB": "~8000000",
		"about 800 bytes": "~800", "8.2 MB (8,234,567 bytes)": "8234567", "8234567 bytes (8.2 MB)": "8234567", "8.2 MB (zip)": "~8200000", "0,5 KB": "~500",
		"": "", "unknown": "", "-1": "", "8.5": "", "8.5 bytes": "", "8 apples": "", "8 kbit": "", "<1 MB": "", "1-2 MB": "", "inf": "", "nan": "", "0x10": "", "1e400": "", "1e30": "",
		"99999999 PB": "", "12 34,5,6 MB": "", "B": "", "MB": "", "A4": "", "9007199254740993.0": "",
	} {
		if got := sizes(parseSize(in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	long := strings.Repeat("0", maxSize-1) + "8"
	if got := sizes(parseSize(long)); got != "8" {
		t.Errorf("a size of %d bytes: %q", len(long), got)
	}
	if got := sizes(parseSize("0" + long)); got != "" {
		t.Errorf("a size of %d bytes: %q", len(long)+1, got)
	}
}

// Sizes of a file in a document.
func TestWaysOfSizes(t *testing.T) {
	for in, want := range map[string]string{
		`"contentSize": 8`: "8", `"contentSize": "8"`: "8", `"contentSize": "8B"`: "8", `"contentSize": "8.2 MB"`: "~8200000", `"contentSize": 8.0`: "8", `"contentSize": 1e3`: "1000",
		`"contentSize": {"@value": "8", "@type": "xsd:integer"}`: "8", `"contentSize": ["8"]`: "8", `"contentSize": [[8]]`: "8", `"contentSize": ["8.2 MB", "8234567"]`: "8234567",
		`"contentSize": {"@type": "QuantitativeValue", "value": 8, "unitText": "B"}`:             "8",
		`"contentSize": {"@type": "QuantitativeValue", "value": "8", "unitText": "bytes"}`:       "8",
		`"contentSize": {"@type": "QuantitativeValue", "value": 8.2, "unitText": "MB"}`:          "~8200000",
		`"contentSize": {"@type": "QuantitativeValue", "value": 8.2, "unitCode": "4L"}`:          "~8200000",
		`"contentSize": {"@type": "QuantitativeValue", "value": 8, "unitCode": "AD"}`:            "8",
		`"contentSize": {"@type": "QuantitativeValue", "value": 8, "unitCode": "E63"}`:           "~8388608",
		`"contentSize": {"@type": "QuantitativeValue", "value": 8, "unitText": "unit:MegaBYTE"}`: "~8000000",
		`"contentSize": {"@type": "QuantitativeValue", "value": 8}`:                              "8",
		`"contentSize": {"@type": "QuantitativeValue", "value": 8, "unitText": "pages"}`:         "",
		`"contentSize": {"@type": "QuantitativeValue", "unitText": "MB"}`:                        "",
		`"dcat:byteSize": {"@type": "xsd:decimal", "@value": "5120.0"}`:                          "5120",
		`"contentSize": "3 MB", "dcat:byteSize": 3000001`:                                        "3000001",
		`"contentSize": true`: "", `"contentSize": null`: "", `"contentSize": {}`: "", `"size": "8 B"`: "8",
	} {
		f := one(t, `"distribution": {"contentUrl": "/f.csv", `+in+`}`).Files[0]
		if got := sizes(f.Bytes, f.BytesAbout); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	// A size of several files is the size of none.
	for _, f := range one(t, `"distribution": {"contentUrl": ["/f.csv", "/g.csv"], "contentSize": 8, "md5": "`+strings.Repeat("0", 32)+`"}`).Files {
		if f.Bytes != nil || f.MD5 != "" {
			t.Errorf("%+v", f)
		}
	}
}

func FuzzSize(f *testing.F) {
	for _, s := range []string{"8", "8.2 MB", "1,024 bytes", "1.5e3", "2P", "8 4L", "~8 B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		exact, about := parseSize(s)
		if got := sizes(exact, about); got == "both" || strings.Contains(got, "-") {
			t.Errorf("%q: %s", s, got)
		}
	})
}
