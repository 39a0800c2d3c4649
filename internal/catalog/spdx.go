package catalog

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// SPDX returns the SPDX identifier of the licence that a text names by that identifier, by the
// licence's own address or by its full name. It returns "" if the licence is unknown or its name
// leaves the version open.
func SPDX(license string) string {
	s := strings.ToLower(strings.Join(strings.Fields(license), " "))
	if s == "" {
		return ""
	}
	if strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") {
		return spdxByURL(s)
	}
	if id := spdxIDs[s]; id != "" {
		return id
	}
	if id := spdxNames[s]; id != "" {
		return id
	}
	return creativeCommons(s)
}

// spdxByURL recognises the licences' own addresses, and the sites that list licences by identifier.
func spdxByURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	host := strings.TrimPrefix(u.Host, "www.")
	path := strings.Trim(u.Path, "/")
	switch host {
	case "creativecommons.org":
		return ccByPath(strings.Split(path, "/"))
	case "spdx.org":
		if id, ok := strings.CutPrefix(path, "licenses/"); ok {
			return spdxIDs[strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(id, ".html"), ".json"), ".txt")]
		}
	case "choosealicense.com":
		if id, ok := strings.CutPrefix(path, "licenses/"); ok {
			return spdxIDs[id] // gpl-3.0 leaves open whether later versions are included
		}
	case "opensource.org":
		for _, prefix := range []string{"licenses/", "license/"} {
			if id, ok := strings.CutPrefix(path, prefix); ok {
				return spdxIDs[strings.TrimSuffix(id, ".php")]
			}
		}
	}
	return spdxURLs[host+"/"+path]
}

// ccByPath reads licenses/by/4.0[/deed…|legalcode…] and publicdomain/zero/1.0. Ported licences
// (…/3.0/de) differ from the unported ones. SPDX has identifiers for few of them, and no other is
// made up.
func ccByPath(part []string) string {
	if len(part) < 3 {
		return ""
	}
	for _, rest := range part[3:] {
		if !strings.HasPrefix(rest, "deed") && !strings.HasPrefix(rest, "legalcode") {
			return spdxIDs["cc-"+part[1]+"-"+part[2]+"-"+rest]
		}
	}
	switch {
	case part[0] == "licenses":
		return spdxIDs["cc-"+part[1]+"-"+part[2]]
	case part[0] == "publicdomain" && part[1] == "zero":
		return spdxIDs["cc0-"+part[2]]
	case part[0] == "publicdomain" && part[1] == "mark" && part[2] == "1.0":
		return "CC-PDM-1.0"
	}
	return ""
}

// creativeCommons reads names such as "CC BY-SA 4.0" and "Creative Commons Attribution 4.0
// International". A version is required.
func creativeCommons(s string) string {
	s = strings.TrimSuffix(strings.TrimSuffix(s, " license"), " licence")
	s = strings.TrimSuffix(s, " (cc by 4.0)")
	name, ok := strings.CutPrefix(s, "creative commons ")
	if !ok {
		if name, ok = strings.CutPrefix(s, "cc"); !ok {
			return ""
		}
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '-' || r == '_' || r == '/' })
	id, version := "cc", ""
	for i, w := range words {
		switch w {
		case "by", "sa", "nc", "nd":
			id += "-" + w
		case "attribution":
			id += "-by"
		case "sharealike":
			id += "-sa"
		case "noncommercial":
			id += "-nc"
		case "noderivatives", "noderivs":
			id += "-nd"
		case "0", "zero":
			id = "cc0"
		case "share", "non", "no": // parts of share alike, non commercial, no derivatives
			if i+1 == len(words) {
				return ""
			}
		case "alike":
			id += "-sa"
		case "commercial":
			id += "-nc"
		case "derivatives", "derivs":
			id += "-nd"
		case "1.0", "2.0", "2.5", "3.0", "4.0":
			if version != "" {
				return ""
			}
			version = w
		case "international", "unported", "generic", "universal", "public", "domain", "dedication":
		default:
			return ""
		}
	}
	if version == "" {
		return ""
	}
	return spdxIDs[id+"-"+version]
}

// Licenses are the identifiers that SPDX returns, sorted.
func Licenses() []string { return slices.Sorted(maps.Values(spdxIDs)) }

// spdxIDs are the identifiers of licences that are used for data, by their lower-case form.
var spdxIDs = lowerKeys(
	"0BSD", "AFL-3.0", "AGPL-3.0-only", "AGPL-3.0-or-later", "Apache-2.0", "APSL-2.0", "Artistic-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0",
	"C-UDA-1.0", "CC-BY-1.0", "CC-BY-2.0", "CC-BY-2.5", "CC-BY-2.5-AU", "CC-BY-3.0", "CC-BY-3.0-AT", "CC-BY-3.0-AU", "CC-BY-3.0-DE", "CC-BY-3.0-IGO", "CC-BY-3.0-NL",
	"CC-BY-3.0-US", "CC-BY-4.0", "CC-BY-NC-1.0", "CC-BY-NC-2.0", "CC-BY-NC-2.5", "CC-BY-NC-3.0", "CC-BY-NC-3.0-DE", "CC-BY-NC-4.0",
	"CC-BY-NC-ND-1.0", "CC-BY-NC-ND-2.0", "CC-BY-NC-ND-2.5", "CC-BY-NC-ND-3.0", "CC-BY-NC-ND-3.0-DE", "CC-BY-NC-ND-3.0-IGO", "CC-BY-NC-ND-4.0",
	"CC-BY-NC-SA-1.0", "CC-BY-NC-SA-2.0", "CC-BY-NC-SA-2.0-FR", "CC-BY-NC-SA-2.0-UK", "CC-BY-NC-SA-2.5", "CC-BY-NC-SA-3.0", "CC-BY-NC-SA-3.0-DE",
	"CC-BY-NC-SA-3.0-IGO", "CC-BY-NC-SA-4.0", "CC-BY-ND-1.0", "CC-BY-ND-2.0", "CC-BY-ND-2.5", "CC-BY-ND-3.0", "CC-BY-ND-3.0-DE", "CC-BY-ND-4.0",
	"CC-BY-SA-1.0", "CC-BY-SA-2.0", "CC-BY-SA-2.0-UK", "CC-BY-SA-2.1-JP", "CC-BY-SA-2.5", "CC-BY-SA-3.0", "CC-BY-SA-3.0-AT", "CC-BY-SA-3.0-DE",
	"CC-BY-SA-3.0-IGO", "CC-BY-SA-4.0", "CC-PDDC", "CC-PDM-1.0", "CC0-1.0", "CDLA-Permissive-1.0", "CDLA-Permissive-2.0", "CDLA-Sharing-1.0",
	"DL-DE-BY-2.0", "DL-DE-ZERO-2.0", "ECL-2.0", "EPL-1.0", "EPL-2.0", "etalab-2.0", "EUPL-1.1", "EUPL-1.2", "GFDL-1.1-only",
	"GFDL-1.2-only", "GFDL-1.3-only", "GFDL-1.3-or-later", "GPL-2.0-only", "GPL-2.0-or-later", "GPL-3.0-only", "GPL-3.0-or-later", "ISC",
	"LGPL-2.1-only", "LGPL-2.1-or-later", "LGPL-3.0-only", "LGPL-3.0-or-later", "MIT", "MIT-0", "MPL-2.0", "NLOD-1.0", "NLOD-2.0", "O-UDA-1.0",
	"ODbL-1.0", "ODC-By-1.0", "OGC-1.0", "OGDL-Taiwan-1.0", "OGL-Canada-2.0", "OGL-UK-1.0", "OGL-UK-2.0", "OGL-UK-3.0", "OSL-3.0", "PDDL-1.0",
	"Unlicense", "UPL-1.0", "Zlib",
)

func lowerKeys(ids ...string) map[string]string {
	m := make(map[string]string, len(ids))
	for _, id := range ids {
		m[strings.ToLower(id)] = id
	}
	return m
}

// spdxNames are full names that are unambiguous.
var spdxNames = map[string]string{
	"cc zero 1.0": "CC0-1.0", "open data commons open database license (odbl) v1.0": "ODbL-1.0",
	"open data commons open database license v1.0": "ODbL-1.0", "open database license (odbl) v1.0": "ODbL-1.0", "odbl 1.0": "ODbL-1.0",
	"open data commons attribution license v1.0": "ODC-By-1.0", "odc-by 1.0": "ODC-By-1.0",
	"odc-pddl-1.0": "PDDL-1.0", "open data commons public domain dedication and license v1.0": "PDDL-1.0", "pddl 1.0": "PDDL-1.0",
	"apache license 2.0": "Apache-2.0", "apache license, version 2.0": "Apache-2.0", "apache 2.0": "Apache-2.0",
	"mit license": "MIT", "the mit license": "MIT", "isc license": "ISC", "mozilla public license 2.0": "MPL-2.0", "the unlicense": "Unlicense",
	"open government licence v3.0": "OGL-UK-3.0", "uk open government licence v3.0": "OGL-UK-3.0", "uk open government licence (ogl v3.0)": "OGL-UK-3.0",
	"open government licence v2.0": "OGL-UK-2.0", "licence ouverte 2.0": "etalab-2.0", "licence ouverte / open licence version 2.0": "etalab-2.0",
	"datenlizenz deutschland – namensnennung – version 2.0": "DL-DE-BY-2.0", "datenlizenz deutschland – zero – version 2.0": "DL-DE-ZERO-2.0",
	"norwegian licence for open government data (nlod) 2.0": "NLOD-2.0",
}

// spdxURLs are the licences' own addresses, without scheme and www.
var spdxURLs = map[string]string{
	"opendatacommons.org/licenses/odbl/1.0": "ODbL-1.0", "opendatacommons.org/licenses/odbl/1-0": "ODbL-1.0",
	"opendatacommons.org/licenses/by/1.0": "ODC-By-1.0", "opendatacommons.org/licenses/by/1-0": "ODC-By-1.0",
	"opendatacommons.org/licenses/pddl/1.0": "PDDL-1.0", "opendatacommons.org/licenses/pddl/1-0": "PDDL-1.0",
	"nationalarchives.gov.uk/doc/open-government-licence/version/1": "OGL-UK-1.0",
	"nationalarchives.gov.uk/doc/open-government-licence/version/2": "OGL-UK-2.0",
	"nationalarchives.gov.uk/doc/open-government-licence/version/3": "OGL-UK-3.0",
	"govdata.de/dl-de/by-2-0": "DL-DE-BY-2.0", "govdata.de/dl-de/zero-2-0": "DL-DE-ZERO-2.0", "dcat-ap.de/def/licenses/dl-by-de/2.0": "DL-DE-BY-2.0",
	"dcat-ap.de/def/licenses/dl-zero-de/2.0": "DL-DE-ZERO-2.0", "data.norge.no/nlod/no/1.0": "NLOD-1.0", "data.norge.no/nlod/no/2.0": "NLOD-2.0",
	"data.norge.no/nlod/en/2.0": "NLOD-2.0", "open.canada.ca/en/open-government-licence-canada": "OGL-Canada-2.0",
	"apache.org/licenses/license-2.0": "Apache-2.0", "apache.org/licenses/license-2.0.txt": "Apache-2.0", "apache.org/licenses/license-2.0.html": "Apache-2.0",
	"unlicense.org/": "Unlicense", "mozilla.org/mpl/2.0": "MPL-2.0", "cdla.dev/permissive-2-0": "CDLA-Permissive-2.0",
	"cdla.dev/permissive-1-0": "CDLA-Permissive-1.0", "cdla.dev/sharing-1-0": "CDLA-Sharing-1.0", "publications.europa.eu/resource/authority/licence/cc_by_4_0": "CC-BY-4.0",
	"publications.europa.eu/resource/authority/licence/cc0": "CC0-1.0", "publications.europa.eu/resource/authority/licence/cc_bysa_4_0": "CC-BY-SA-4.0",
}
