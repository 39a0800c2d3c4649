package usage

import "strings"

// licenseLinks returns the addresses in a Link header line (RFC 8288) with rel=license and the type
// of licence documents, at most 64.
func licenseLinks(line string) (urls []string) {
	if len(line) > MaxStatement {
		return nil
	}
	for len(urls) < maxTerms {
		_, rest, ok := strings.Cut(line, "<")
		if !ok {
			return urls
		}
		url, rest, ok := strings.Cut(rest, ">")
		if !ok {
			return urls
		}
		var rel, typ bool
		rel, typ, line = linkParams(rest)
		if rel && typ {
			urls = append(urls, url)
		}
	}
	return urls
}

// linkParams parses the parameters of one link up to the comma after it.
func linkParams(s string) (license, rsl bool, rest string) {
	for s != "" && s[0] != ',' {
		if s[0] == ';' || s[0] == ' ' || s[0] == '\t' {
			s = s[1:]
			continue
		}
		var name, value string
		if name, s = cutAny(s, "=;, \t"); name == "" {
			s = s[1:] // an "=" without a name
			continue
		}
		if s = strings.TrimLeft(s, " \t"); s != "" && s[0] == '=' {
			value, s = linkValue(strings.TrimLeft(s[1:], " \t"))
		}
		switch lower(name) {
		case "rel":
			license = license || LicenseRelation(value)
		case "type":
			rsl = rsl || LicenseType(value)
		}
	}
	return license, rsl, s
}

func linkValue(s string) (value, rest string) {
	if s == "" || s[0] != '"' {
		return cutAny(s, ";, \t")
	}
	value, rest, _ = strings.Cut(s[1:], `"`)
	return value, rest
}

// LicenseRelation reports whether a rel value contains the word license, in any case.
func LicenseRelation(rel string) bool {
	for word := range strings.FieldsSeq(rel) {
		if lower(word) == "license" {
			return true
		}
	}
	return false
}

// LicenseType reports whether a type is that of licence documents, ignoring parameters.
func LicenseType(typ string) bool {
	media, _, _ := strings.Cut(typ, ";")
	return lower(strings.TrimSpace(media)) == RSLType
}
