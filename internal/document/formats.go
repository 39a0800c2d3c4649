package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Number formats of sheets (ECMA-376 part 1). A date is a number of days; whether a cell is
// one is known by the format of its style alone.

// format is what a number is shown as.
type format int

const (
	formatNumber format = iota
	formatDate
	formatTime
	formatBoth
	formatSpan    // hours, perhaps more than 24
	formatPercent // and more: with so many decimals
)

// maxDecimals is how many decimals of a percentage are shown.
const maxDecimals = 15

// formats are the formats of a table.
type formats struct {
	styles   []format // of cells, by number
	from1904 bool     // days are counted from 1904
}

// maxStyles is how many styles of cells, and number formats, are read.
const maxStyles = 65_536

// formats reads the styles of a table. A table may have none.
func (p *parts) formats(rels map[string]related) (f formats, err error) {
	part := ""
	for _, id := range sorted(rels) {
		if r := rels[id]; r.kind == "styles" && !r.external {
			part = r.target
		}
	}
	if part == "" {
		return f, nil
	}
	custom := map[string]format{}
	inside := false
	err = p.walk(part, handlers{
		start: func(e xml.StartElement) error {
			switch e.Name.Local {
			case "numFmt":
				if len(custom) < maxStyles {
					custom[attribute(e, "numFmtId")] = formatOf(attribute(e, "formatCode"))
				}
			case "cellXfs":
				inside = true
			case "xf":
				if id := attribute(e, "numFmtId"); inside && len(f.styles) < maxStyles {
					kind, ok := custom[id]
					if !ok {
						kind = builtin(id)
					}
					f.styles = append(f.styles, kind)
				}
			}
			return nil
		},
		end: func(name string) error {
			inside = inside && name != "cellXfs"
			return nil
		},
	})
	var bad *xml.SyntaxError
	if errors.Is(err, errMissing) || errors.As(err, &bad) {
		err = nil // numbers are shown as they are
	}
	return f, err
}

// builtin is the format of a number that the file does not define. From 27 to 58 they depend on the
// language; 27 to 36 and 50 to 58 are dates and times in all of them.
func builtin(id string) format {
	n, err := strconv.Atoi(id)
	switch {
	case err != nil:
		return formatNumber
	case n == 9:
		return formatPercent
	case n == 10:
		return formatPercent + 2
	case n >= 14 && n <= 17, n >= 27 && n <= 31, n == 36, n >= 50 && n <= 54, n >= 57 && n <= 58:
		return formatDate
	case n >= 18 && n <= 21, n >= 32 && n <= 35, n >= 55 && n <= 56, n == 45, n == 47:
		return formatTime
	case n == 22:
		return formatBoth
	case n == 46:
		return formatSpan
	}
	return formatNumber
}

// formatOf is the format of a code such as yyyy-mm-dd: of its first section, without its texts.
func formatOf(code string) format {
	date, clock, percent, span, decimals, point := false, false, false, false, 0, false
	for i := 0; i < len(code); i++ {
		switch c := code[i] | 0x20; {
		case code[i] == ';':
			i = len(code)
		case code[i] == '"':
			if n := strings.IndexByte(code[i+1:], '"'); n >= 0 {
				i += n + 1
			} else {
				i = len(code)
			}
		case code[i] == '\\', code[i] == '_', code[i] == '*':
			i++ // the next character is shown, or its width
		case code[i] == '[':
			n := strings.IndexByte(code[i:], ']')
			if n < 0 {
				i = len(code)
				break
			}
			if in := strings.ToLower(code[i+1 : i+n]); in != "" && strings.Contains("hms", in[:1]) && strings.Trim(in, in[:1]) == "" {
				span = true
			}
			i += n
		case code[i] == '%':
			percent = true
		case code[i] == '.':
			point = true
		case code[i] == '0' || code[i] == '#' || code[i] == '?':
			if point && decimals < maxDecimals {
				decimals++
			}
		case c == 'g' && hasFold(code[i:], "general"):
			i += len("general") - 1
		case c == 's' && hasFold(code[i:], "standard"):
			i += len("standard") - 1
		case c == 'y' || c == 'd' || c == 'm' && !clock && !minutes(code[i:]):
			date = true
		case c == 'h' || c == 's' || c == 'm':
			clock = true
		}
	}
	switch {
	case percent:
		return formatPercent + format(decimals)
	case span:
		return formatSpan
	case date && clock:
		return formatBoth
	case date:
		return formatDate
	case clock:
		return formatTime
	}
	return formatNumber
}

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// minutes reports whether a code that begins with m has minutes there: seconds follow.
func minutes(code string) bool {
	rest := strings.TrimLeft(code, "mM")
	return len(rest) > 1 && rest[0] == ':' && rest[1]|0x20 == 's'
}

func isTrue(s string) bool { return s == "1" || strings.EqualFold(s, "true") || s == "on" }

// show returns the text of a number in a cell of this style. Dates have the form of ISO 8601.
func (f formats) show(style, text string) string {
	n, err := strconv.Atoi(style)
	if err != nil || n < 0 || n >= len(f.styles) || f.styles[n] == formatNumber {
		return text
	}
	value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(value) || math.Abs(value) > 1e12 {
		return text
	}
	kind := f.styles[n]
	if kind >= formatPercent {
		return strconv.FormatFloat(value*100, 'f', int(kind-formatPercent), 64) + "%"
	}
	if shown, ok := f.day(value, kind); ok {
		return shown
	}
	return text
}

// lastDay is the number of 9999-12-31, counted from 1900.
const lastDay = 2_958_465

// day returns a number of days as a date, a time of day, both, or a span of hours.
func (f formats) day(value float64, kind format) (string, bool) {
	seconds := int64(math.Round(value * 86_400))
	if kind == formatSpan {
		sign := ""
		if seconds < 0 {
			sign, seconds = "-", -seconds
		}
		return fmt.Sprintf("%s%d:%02d:%02d", sign, seconds/3600, seconds/60%60, seconds%60), true
	}
	if value < 0 || value > lastDay+1 {
		return "", false
	}
	days, rest := seconds/86_400, seconds%86_400
	clock := fmt.Sprintf("%02d:%02d:%02d", rest/3600, rest/60%60, rest%60)
	if kind == formatTime {
		return clock, true
	}
	date := ""
	switch first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC); {
	case f.from1904:
		date = first.AddDate(4, 0, int(days)+2).Format(time.DateOnly)
	case days == 60:
		date = "1900-02-29" // a day that does not exist and has a number
	case days < 60:
		date = first.AddDate(0, 0, int(days)+1).Format(time.DateOnly)
	default:
		date = first.AddDate(0, 0, int(days)).Format(time.DateOnly)
	}
	if kind == formatBoth || rest != 0 {
		date += " " + clock
	}
	return date, true
}
