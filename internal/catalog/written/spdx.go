// Package written reads single values as publishers write them: the names of licences, identifiers
// and addresses. Its functions are pure, and safe for concurrent use.
package written

import (
	_ "embed"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxLicense is how long the name of a licence may be, in bytes. A longer text is not a name.
const maxLicense = 256

// SPDX returns the SPDX identifier of the licence that a text names by that identifier, by the
// licence's own address, by its name, or by a name that a catalogue defines for it. It returns ""
// if the licence is unknown, or if its name leaves open which of several versions is meant.
func SPDX(license string) string {
	s := strings.TrimSpace(license)
	if s == "" || len(s) > maxLicense || strings.ContainsAny(s, ";|\n") {
		return ""
	}
	if isLicenseAddress(s) {
		return spdxByURL(s)
	}
	if id := spdxByName(s); id != "" {
		return id
	}
	// "Creative Commons Attribution 4.0 International (CC BY 4.0)"
	before, inside, ok := strings.Cut(strings.TrimSuffix(s, ")"), "(")
	if ok && strings.HasSuffix(s, ")") {
		if id := spdxByName(before); id != "" && id == spdxByName(inside) {
			return id
		}
	}
	return ""
}

// isLicenseAddress reports whether a text is an address, also without a scheme.
func isLicenseAddress(s string) bool {
	if strings.Contains(s, "://") {
		return !strings.ContainsAny(s, " \t")
	}
	host, _, ok := strings.Cut(s, "/")
	return ok && strings.Contains(host, ".") && !strings.ContainsAny(s, " \t") && !strings.ContainsAny(host, "0123456789")
}

// spdxByName looks a name up, as it is and without the word license at its end.
func spdxByName(s string) string {
	name := plainLicense(s)
	if id := licenses().names[name]; id != "" {
		return id
	}
	if id := licenses().names[strings.TrimSuffix(name, " license")]; id != "" {
		return id
	}
	return creativeCommons(name)
}

// plainLicense returns the words of a licence's name in one spelling: in lower case, "licence" as
// "license", versions with a dot, without punctuation and the words "the" and "version".
func plainLicense(s string) string {
	s = dashedVersion.ReplaceAllString(strings.ToLower(s), "$1$2.$3$4")
	var out []string
	for _, w := range strings.FieldsFunc(s, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("-_/,:()[]\"'’&–—\u00a0", r)
	}) {
		w = strings.TrimRight(w, ".")
		switch {
		case w == "" || w == "the" || w == "version" || w == "ver" || w == "v" || w == "and":
			continue
		case w == "licence" || w == "licenses" || w == "licences" || w == "lizenz":
			w = "license"
		case isVersion(strings.TrimPrefix(w, "v")):
			w = strings.TrimPrefix(w, "v")
			if plus := strings.HasSuffix(w, "+"); !strings.Contains(w, ".") {
				if w = strings.TrimSuffix(w, "+") + ".0"; plus {
					w += "+"
				}
			}
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// dashedVersion finds 2-0 and 1_2.
var dashedVersion = regexp.MustCompile(`(^|[^a-z0-9.])([0-9])[-_]([0-9])($|[^0-9.])`)

// isVersion reports whether a word is a number with at most one dot, a plus may follow.
func isVersion(w string) bool {
	w = strings.TrimSuffix(w, "+")
	return w != "" && strings.Trim(w, "0123456789.") == "" && w[0] != '.' && strings.Count(w, ".") <= 1
}

// spdxByURL recognises the licences' own addresses, and the sites that list licences by name.
func spdxByURL(s string) string {
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(strings.ToLower(s))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	host := strings.TrimPrefix(strings.TrimPrefix(u.Hostname(), "www."), "licenses.")
	path := strings.Trim(u.Path, "/")
	parts := strings.Split(path, "/")
	last := withoutExtension(parts[len(parts)-1])
	switch host {
	case "creativecommons.org", "i.creativecommons.org":
		return ccByPath(parts)
	case "opendatacommons.org": // each of its licences has one version
		if len(parts) >= 2 && parts[0] == "licenses" {
			return map[string]string{"odbl": "ODbL-1.0", "by": "ODC-By-1.0", "pddl": "PDDL-1.0"}[parts[1]]
		}
	case "spdx.org", "choosealicense.com", "opensource.org", "opendefinition.org":
		if len(parts) == 2 && strings.HasPrefix(parts[0], "license") {
			if id := licenses().ids[last]; id != "" && host == "spdx.org" {
				return id
			}
			return spdxByName(last)
		}
	case "gnu.org":
		if strings.HasPrefix(path, "licenses/") {
			return licenses().names[plainLicense(last)]
		}
	case "govdata.de":
		return licenses().names[plainLicense(path)]
	case "dcat-ap.de":
		if name, ok := strings.CutPrefix(path, "def/licenses/"); ok {
			return spdxByName(name)
		}
	case "publications.europa.eu":
		if name, ok := strings.CutPrefix(path, "resource/authority/licence/"); ok {
			return spdxByName(name)
		}
	case "nationalarchives.gov.uk":
		if version, ok := strings.CutPrefix(path, "doc/open-government-licence/version/"); ok {
			return licenses().names["open government license "+version[:min(1, len(version))]+".0"]
		}
	}
	return spdxURLs[host+"/"+path]
}

// withoutExtension removes the extensions of a file, but not a version.
func withoutExtension(name string) string {
	for _, ext := range []string{".html", ".htm", ".json", ".jsonld", ".txt", ".php", ".en", ".md"} {
		name = strings.TrimSuffix(name, ext)
	}
	return strings.TrimSuffix(name, ".en") // .en.html
}

// ccByPath reads licenses/by/4.0[/deed…|legalcode…] and publicdomain/zero/1.0, and l/by/4.0 and
// p/zero/1.0 of the buttons. Ported licences (…/3.0/de) differ from the unported ones. SPDX has
// identifiers for few of them, and no other is made up.
func ccByPath(part []string) string {
	if len(part) < 3 {
		return ""
	}
	kind, name, version := part[0], part[1], part[2]
	for _, rest := range part[3:] {
		if !strings.HasPrefix(rest, "deed") && !strings.HasPrefix(rest, "legalcode") && rest != "rdf" && !strings.HasSuffix(rest, ".png") && !strings.HasSuffix(rest, ".svg") {
			return licenses().ids["cc-"+name+"-"+version+"-"+rest]
		}
	}
	switch {
	case name == "zero":
		return licenses().ids["cc0-"+version]
	case kind == "licenses", kind == "l":
		return licenses().ids["cc-"+name+"-"+version]
	case name == "mark" && version == "1.0":
		return "CC-PDM-1.0"
	}
	return ""
}

// ccWords are the words of Creative Commons' names and what they mean. An empty meaning is a word
// that changes nothing.
var ccWords = map[string]string{
	"by": "by", "sa": "sa", "nc": "nc", "nd": "nd", "bysa": "by sa", "bync": "by nc", "bynd": "by nd", "byncsa": "by nc sa", "byncnd": "by nc nd", "ncsa": "nc sa", "ncnd": "nc nd",
	"attribution": "by", "sharealike": "sa", "noncommercial": "nc", "noderivatives": "nd", "noderivs": "nd", "share": "sa", "non": "nc", "no": "nd", "works": "", "license": "", "international": "", "intl": "", "unported": "", "generic": "", "deed": "", "legal": "", "code": "",
	"namensnennung": "by", "reconocimiento": "by", "atribución": "by", "attribuzione": "by", "atribuição": "by", "naamsvermelding": "by", "compartirigual": "sa", "nocomercial": "nc",
	"germany": "-de", "austria": "-at", "australia": "-au", "netherlands": "-nl", "igo": "-igo", "de": "-de", "at": "-at", "au": "-au", "nl": "-nl", "us": "-us", "jp": "-jp", "uk": "-uk", "fr": "-fr",
}

// ccHalves are the words that begin another one, and what must follow them.
var ccHalves = map[string][]string{"share": {"alike"}, "non": {"commercial"}, "no": {"derivatives", "derivative", "derivs"}}

// creativeCommons reads names such as "cc by sa 4.0" and "creative commons attribution 4.0
// international". A version is required. A word that is not known makes the licence unknown.
func creativeCommons(name string) string {
	words := strings.Fields(name)
	switch {
	case len(words) > 1 && words[0] == "creative" && words[1] == "commons":
		words = words[2:]
	case len(words) > 0 && words[0] == "cc":
		words = words[1:]
	case len(words) > 0 && words[0] == "attribution" && slices.Contains(words, "international"):
	default:
		return ""
	}
	has, version, port := map[string]bool{}, "", ""
	for i, w := range words {
		meaning, known := ccWords[w]
		if halves := ccHalves[w]; i > 0 && slices.Contains(ccHalves[words[i-1]], w) {
			known = true
		} else if halves != nil && (i+1 == len(words) || !slices.Contains(halves, words[i+1])) {
			return ""
		}
		switch {
		case isVersion(w) && version == "":
			version = w
		case !known:
			if w != "cc" || i > 0 && words[i-1] == "cc" { // "Creative Commons CC BY 4.0"
				return ""
			}
		case strings.HasPrefix(meaning, "-"):
			if port != "" && port != meaning {
				return ""
			}
			port = meaning
		default:
			for _, m := range strings.Fields(meaning) {
				has[m] = true
			}
		}
	}
	id := "cc"
	for _, m := range []string{"by", "nc", "nd", "sa"} {
		if has[m] {
			id += "-" + m
		}
	}
	if version == "" {
		return ""
	}
	return licenses().ids[id+"-"+version+port]
}

// Licenses are the identifiers that SPDX returns, sorted.
func Licenses() []string {
	var all []string
	for _, id := range licenses().ids {
		all = append(all, id)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

//go:embed spdx-licenses.tsv
var spdxList string

// licenses has the identifiers by their lower-case form, and by the words of the licences' names. A
// deprecated identifier leads to the one that replaces it. It is made when it is first needed: that
// takes 4 ms, and most commands need none.
var licenses = sync.OnceValue(func() (l struct{ ids, names map[string]string }) {
	l.ids, l.names = map[string]string{}, map[string]string{}
	for line := range strings.Lines(spdxList) {
		line = strings.TrimSpace(line)
		id, name, _ := strings.Cut(line, "\t")
		if strings.HasPrefix(id, "#") {
			continue
		}
		if _, now, ok := strings.Cut(name, "→\t"); ok {
			l.ids[strings.ToLower(id)], l.names[plainLicense(id)] = now, now
			continue
		}
		l.ids[strings.ToLower(id)] = id
		if strings.ContainsAny(id, "-0123456789") || spdxWords[id] {
			l.names[plainLicense(id)] = id
		}
		if name != "" {
			l.names[plainLicense(name)] = id
		}
	}
	for id, others := range spdxOthers {
		for _, name := range others {
			l.names[plainLicense(name)] = id
		}
	}
	return l
})

// spdxWords are the identifiers without a hyphen or a digit that count as the name of a licence.
// Others, such as Fair and JSON, are words that may mean something else.
var spdxWords = map[string]bool{"MIT": true, "ISC": true, "Zlib": true, "Unlicense": true, "NCSA": true, "PostgreSQL": true, "WTFPL": true, "HPND": true, "Beerware": true}

// spdxOthers are names of licences that SPDX does not list: of their publishers, of CKAN, of the
// European list of licences, of national portals and of Hugging Face. A name without a version is
// here only if the licence has no other version.
var spdxOthers = map[string][]string{
	"CC0-1.0": {"CC0", "CC 0", "CC Zero", "CC Zero 1.0", "CC0 1.0 Universal", "CC0 Universal", "CC0 Public Domain Dedication", "CC0 1.0 Public Domain Dedication", "Creative Commons Zero",
		"Creative Commons Zero 1.0", "Creative Commons Zero 1.0 Universal", "Creative Commons Zero Universal 1.0", "Creative Commons CCZero", "Creative Commons CC0", "Creative Commons CC0 1.0",
		"Creative Commons CC0 1.0 Universal", "CC0 1.0 Universal (CC0 1.0) Public Domain Dedication", "CC0: Public Domain", "CC0 1.0 (Public Domain)", "Creative Commons 0 1.0", "Creative Commons Zero (CC0)",
		"Creative Commons Public Domain Dedication CC0 1.0", "CCZero"},
	"CC-PDM-1.0": {"Public Domain Mark 1.0", "Creative Commons Public Domain Mark 1.0", "CC PDM", "PDM 1.0", "Public Domain Mark"},
	"ODbL-1.0": {"ODbL", "ODC ODbL", "ODC-ODbL-1.0", "Open Database License", "Open Database License 1.0", "Open Database License (ODbL)", "Open Database License (ODbL) v1.0", "Open Database License ODbL 1.0",
		"Open Data Commons Open Database License", "Open Data Commons Open Database License (ODbL)", "Open Data Commons Open Database License (ODbL) v1.0", "ODC BL", "Opendatacommons ODbL",
		"Open Data Commons Open Database License 1.0 (ODbL)", "Licence ODbL"},
	"ODC-By-1.0": {"ODC-By", "ODC Attribution", "ODC Attribution License", "Open Data Commons Attribution License", "Open Data Commons Attribution", "Open Data Commons Attribution License (ODC-By)",
		"Open Data Commons Attribution License (ODC-By) v1.0", "Open Data Commons Attribution License 1.0 (ODC-By)", "ODBy", "Open Data Commons By 1.0"},
	"PDDL-1.0": {"PDDL", "ODC PDDL", "ODC-PDDL-1.0", "ODCPDDL", "Open Data Commons Public Domain Dedication and License", "Open Data Commons Public Domain Dedication and License (PDDL)",
		"Open Data Commons Public Domain Dedication and License (PDDL) v1.0", "Open Data Commons Public Domain Dedication and License 1.0 (PDDL)", "Public Domain Dedication and License", "Public Domain Dedication and License 1.0"},
	"OGL-UK-1.0": {"OGL 1.0", "UK OGL 1.0", "UK Open Government Licence v1.0"},
	"OGL-UK-2.0": {"OGL 2.0", "UK OGL 2.0", "UK Open Government Licence v2.0", "Open Government Licence 2.0 (United Kingdom)", "Open Government Licence (OGL) v2.0"},
	"OGL-UK-3.0": {"OGL 3.0", "UK OGL 3.0", "OGLv3", "UK Open Government Licence v3.0", "UK Open Government Licence (OGL v3.0)", "UK Open Government Licence (OGL) v3.0", "Open Government Licence (OGL) v3.0",
		"Open Government Licence 3.0 (United Kingdom)", "Open Government Licence v3.0 (OGL)"},
	"OGL-Canada-2.0": {"OGL Canada", "Open Government Licence Canada 2.0", "Open Government License 2.0 (Canada)", "ca-ogl-lgo", "Open Government Licence - Canada (version 2.0)",
		"Licence du gouvernement ouvert - Canada", "Licence du gouvernement ouvert Canada 2.0"},
	"OGDL-Taiwan-1.0": {"Open Government Data License Taiwan 1.0", "OGL-TW-1.0", "Open Government Data License, version 1.0 (Taiwan)", "政府資料開放授權條款-第1版"},
	"DL-DE-BY-2.0": {"Datenlizenz Deutschland – Namensnennung – Version 2.0", "Datenlizenz Deutschland Namensnennung 2.0", "Data Licence Germany Attribution 2.0", "Data licence Germany-attribution-version 2.0",
		"dl-de/by-2-0", "dl-by-de/2.0", "OGL-DE-BY-2.0"},
	"DL-DE-ZERO-2.0": {"Datenlizenz Deutschland – Zero – Version 2.0", "Datenlizenz Deutschland Zero 2.0", "Data Licence Germany Zero 2.0", "dl-de/zero-2-0", "dl-zero-de/2.0", "OGL-DE-ZERO-2.0"},
	"etalab-2.0": {"Licence Ouverte 2.0", "Licence Ouverte v2.0 (Etalab)", "Licence Ouverte / Open Licence version 2.0", "Licence Ouverte / Open Licence 2.0", "Licence Ouverte Etalab 2.0", "Etalab Open Licence 2.0",
		"Open Licence 2.0 (Etalab)", "Open Licence Etalab 2.0", "lov2", "LO-FR-2.0"},
	"NLOD-1.0":     {"Norsk lisens for offentlige data (NLOD) 1.0", "Norwegian Licence for Open Government Data 1.0"},
	"NLOD-2.0":     {"Norsk lisens for offentlige data (NLOD) 2.0", "Norwegian Licence for Open Government Data 2.0", "Norsk lisens for offentlige data 2.0"},
	"EUPL-1.1":     {"European Union Public Licence v1.1", "European Union Public Licence (EUPL) v1.1"},
	"EUPL-1.2":     {"European Union Public Licence v1.2", "European Union Public Licence (EUPL) v1.2", "EUPL v1.2"},
	"Apache-2.0":   {"Apache 2", "Apache2", "Apache2.0", "Apache License, Version 2.0", "Apache Software License 2.0", "ASL 2.0", "Apache License 2"},
	"MIT":          {"The MIT License", "MIT License (MIT)", "The MIT License (MIT)", "Expat"},
	"BSD-2-Clause": {"BSD 2-Clause License", "Simplified BSD License", "2-clause BSD"},
	"BSD-3-Clause": {"BSD 3-Clause License", "New BSD License", "Modified BSD License", "Revised BSD License", "3-clause BSD"},
	"MPL-2.0":      {"Mozilla Public License 2"}, "Unlicense": {"The Unlicense", "The Unlicense (Unlicense)"}, "BSL-1.0": {"Boost Software License 1.0"},
	"GPL-2.0-only":     {"GPLv2", "GNU GPL 2.0", "GNU GPLv2", "GNU General Public License 2.0", "GNU General Public License v2"},
	"GPL-2.0-or-later": {"GPLv2+", "GPL 2.0 or later", "GNU GPL 2.0 or later", "GNU General Public License 2.0 or later", "GNU GPLv2+"},
	"GPL-3.0-only":     {"GPLv3", "GNU GPL 3.0", "GNU GPLv3", "GNU General Public License 3.0", "GNU General Public License v3 (GPLv3)"},
	"GPL-3.0-or-later": {"GPLv3+", "GPL 3.0 or later", "GNU GPL 3.0 or later", "GNU General Public License 3.0 or later", "GNU GPLv3+"},
	"LGPL-2.1-only":    {"LGPLv2.1", "GNU LGPL 2.1", "GNU Lesser General Public License 2.1"}, "LGPL-2.1-or-later": {"LGPLv2.1+", "LGPL 2.1 or later", "GNU Lesser General Public License 2.1 or later"},
	"LGPL-3.0-only": {"LGPLv3", "GNU LGPL 3.0", "GNU LGPLv3", "GNU Lesser General Public License 3.0"}, "LGPL-3.0-or-later": {"LGPLv3+", "LGPL 3.0 or later", "GNU Lesser General Public License 3.0 or later"},
	"AGPL-3.0-only": {"AGPLv3", "GNU AGPL 3.0", "GNU AGPLv3", "GNU Affero General Public License 3.0"}, "AGPL-3.0-or-later": {"AGPLv3+", "AGPL 3.0 or later", "GNU Affero General Public License 3.0 or later"},
	"GFDL-1.2-only": {"FDL 1.2", "GNU Free Documentation License 1.2", "GNU FDL 1.2"}, "GFDL-1.3-only": {"FDL 1.3", "GNU Free Documentation License 1.3", "GNU FDL 1.3"},
	"C-UDA-1.0": {"C-UDA"}, "O-UDA-1.0": {"O-UDA"},
	"CDLA-Permissive-1.0": {"Community Data License Agreement Permissive, Version 1.0"}, "CDLA-Permissive-2.0": {"Community Data License Agreement Permissive, Version 2.0"},
	"CDLA-Sharing-1.0": {"Community Data License Agreement Sharing, Version 1.0"},
}

// spdxURLs are the licences' own addresses in lower case, without scheme and www.
var spdxURLs = map[string]string{
	"data.norge.no/nlod/no/1.0": "NLOD-1.0", "data.norge.no/nlod/en/1.0": "NLOD-1.0", "data.norge.no/nlod/no/2.0": "NLOD-2.0", "data.norge.no/nlod/en/2.0": "NLOD-2.0",
	"open.canada.ca/en/open-government-licence-canada": "OGL-Canada-2.0", "open.canada.ca/fr/licence-du-gouvernement-ouvert-canada": "OGL-Canada-2.0",
	"ouvert.canada.ca/fr/licence-du-gouvernement-ouvert-canada": "OGL-Canada-2.0", "data.gc.ca/eng/open-government-licence-canada": "OGL-Canada-2.0",
	"apache.org/licenses/license-2.0": "Apache-2.0", "apache.org/licenses/license-2.0.txt": "Apache-2.0", "apache.org/licenses/license-2.0.html": "Apache-2.0",
	"unlicense.org/": "Unlicense", "mozilla.org/mpl/2.0": "MPL-2.0", "mozilla.org/en-us/mpl/2.0": "MPL-2.0", "cdla.dev/permissive-2-0": "CDLA-Permissive-2.0",
	"cdla.dev/permissive-1-0": "CDLA-Permissive-1.0", "cdla.dev/sharing-1-0": "CDLA-Sharing-1.0", "cdla.io/permissive-1-0": "CDLA-Permissive-1.0", "cdla.io/sharing-1-0": "CDLA-Sharing-1.0",
	"data.gov.tw/license": "OGDL-Taiwan-1.0", "github.com/etalab/licence-ouverte/blob/master/lo.md": "etalab-2.0", "boost.org/license_1_0.txt": "BSL-1.0",
	"etalab.gouv.fr/wp-content/uploads/2017/04/etalab-licence-ouverte-v2.0.pdf": "etalab-2.0", "etalab.gouv.fr/wp-content/uploads/2018/11/open-licence.pdf": "etalab-2.0",
	"joinup.ec.europa.eu/collection/eupl/eupl-text-eupl-12": "EUPL-1.2", "eupl.eu/1.2/en": "EUPL-1.2", "eupl.eu/1.1/en": "EUPL-1.1",
}
