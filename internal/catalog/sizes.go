package catalog

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Sizes of files, in the forms in which publishers write them. A number of bytes is exact. A size
// in a larger unit is rounded, so it is only about the size.

// maxSize is how long the text of a size may be.
const maxSize = 100

// units are the names of units in lower case, without a plural s. Prefixes of two letters, such as
// ki, are powers of 1,024. Others are powers of 1,000, although some programs mean 1,024.
var units = func() map[string]float64 {
	all := map[string]float64{}
	for i, p := range []struct{ letter, cyrillic, decimal, binary string }{
		{"", "", "", ""}, {"k", "к", "kilo", "kibi"}, {"m", "м", "mega", "mebi"}, {"g", "г", "giga", "gibi"}, {"t", "т", "tera", "tebi"}, {"p", "п", "peta", "pebi"},
	} {
		factor, binary := math.Pow(1000, float64(i)), math.Pow(1024, float64(i))
		for _, unit := range []string{"b", "o", "byte", "octet"} {
			all[p.letter+unit], all[p.decimal+unit] = factor, factor
			if i > 0 {
				all[p.letter+"i"+unit], all[p.binary+unit] = binary, binary
			}
		}
		all[p.letter], all[p.cyrillic+"б"], all[p.cyrillic+"байт"] = factor, factor, factor
	}
	return all
}()

// unitCodes are the codes of UN/CEFACT, which schema.org uses as unitCode.
var unitCodes = map[string]string{
	"AD": "B", "2P": "kB", "4L": "MB", "E34": "GB", "E35": "TB", "E36": "PB", "E64": "KiB", "E63": "MiB", "E62": "GiB", "E61": "TiB", "E60": "PiB",
}

// takeSize stores the first size in these values. An exact one counts before a rounded one.
func (r *jsonReader) takeSize(f *crawl.DatasetFile, values ...any) {
	for _, v := range values {
		for _, e := range r.list(v) {
			s := sizeText(r, e)
			exact, about := parseSize(s)
			if f.Bytes == nil {
				f.Bytes = exact
			}
			if f.BytesAbout == nil {
				f.BytesAbout = about
			}
		}
	}
	if f.Bytes != nil {
		f.BytesAbout = nil
	}
}

// sizeText returns the text of a size: a number or a text, or the value and the unit of a
// QuantitativeValue.
func sizeText(r *jsonReader, v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return r.text(v)
	}
	n, _ := r.node(m)
	unit := r.textOf(n, "unitText", "unitCode")
	unit = unit[strings.LastIndexAny(unit, "/#:")+1:]
	return r.text(n.keys["value"]) + " " + cmp.Or(unitCodes[strings.ToUpper(unit)], unit)
}

// parseSize reads a size: "8", "8 B", "1,024 bytes", "8.2 MB", "8,2 Mo", "12 KiB", "8.2 MB
// (8,234,567 bytes)". At most one of the results is not nil.
func parseSize(s string) (exact, about *int64) {
	if len(s) > maxSize {
		return nil, nil
	}
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '(' || r == ')' || r == '[' || r == ']' }) {
		e, a := parseOneSize(part)
		if e != nil {
			return e, nil
		}
		if about == nil {
			about = a
		}
	}
	return nil, about
}

func parseOneSize(s string) (exact, about *int64) {
	s = strings.ToLower(strings.Join(strings.Fields(s), ""))
	rounded := false
	for _, word := range []string{"~", "≈", "circa", "ca.", "about", "approximately", "approx."} {
		if rest, ok := strings.CutPrefix(s, word); ok {
			s, rounded = rest, true
		}
	}
	end := strings.LastIndexAny(s, "0123456789") + 1
	number, unit := s[:end], strings.TrimSuffix(s[end:], ".")
	factor, ok := units[strings.TrimSuffix(unit, "s")]
	if !ok {
		return nil, nil
	}
	n, ok := parseNumber(number, unit != "" && factor == 1)
	if n *= factor; !ok || n < 0 || n >= 1<<62 {
		return nil, nil
	}
	whole := int64(math.Round(n))
	switch {
	case factor > 1 || rounded:
		return nil, &whole
	case n != math.Trunc(n) || n >= 1<<53 && strings.ContainsAny(number, ".e"):
		return nil, nil
	}
	if v, err := strconv.ParseInt(number, 10, 64); err == nil {
		whole = v
	}
	return &whole, nil
}

// parseNumber reads a number with groups of three digits or a decimal comma. A dot before three
// digits is a decimal point, unless the number is one of bytes, of which there are no fractions.
func parseNumber(s string, bytes bool) (float64, bool) {
	s = strings.NewReplacer("'", "", "’", "").Replace(s)
	comma, dot := strings.LastIndexByte(s, ','), strings.LastIndexByte(s, '.')
	switch {
	case comma >= 0 && dot >= 0:
		if comma > dot {
			s = strings.ReplaceAll(strings.ReplaceAll(s, ".", ""), ",", ".")
		} else {
			s = strings.ReplaceAll(s, ",", "")
		}
	case comma >= 0 && inGroups(s, ","):
		s = strings.ReplaceAll(s, ",", "")
	case comma >= 0:
		s = strings.ReplaceAll(s, ",", ".")
	case dot >= 0 && (bytes || strings.Count(s, ".") > 1) && inGroups(s, "."):
		s = strings.ReplaceAll(s, ".", "")
	}
	if strings.Trim(s, "0123456789.e+-") != "" {
		return 0, false // not "inf" or "0x1p4"
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil
}

// inGroups reports whether a separator is before each three digits of a number.
func inGroups(s, separator string) bool {
	parts := strings.Split(s, separator)
	for i, p := range parts {
		if strings.Trim(p, "0123456789") != "" || i > 0 && len(p) != 3 || i == 0 && (len(p) == 0 || len(p) > 3) || p == "0" && i == 0 {
			return false
		}
	}
	return true
}

// count returns an exact number of bytes in v, or nil.
func count(v any) *int64 {
	if all, ok := v.([]any); ok && len(all) > 0 {
		v = all[0]
	}
	switch v := v.(type) {
	case json.Number:
		exact, _ := parseSize(v.String())
		return exact
	case string:
		exact, _ := parseSize(v)
		return exact
	}
	return nil
}
