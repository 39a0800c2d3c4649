package shapes

import "time"

// arcgis rewrites a dataset that a search of an ArcGIS Hub found.
func arcgis(m map[string]any) map[string]any { return arcgisDataset(object(m["properties"])) }

// arcgisItem rewrites a dataset of version 3 of an ArcGIS Hub's API.
func arcgisItem(m map[string]any) map[string]any {
	d := arcgisDataset(object(m["attributes"]))
	d["landingPage"] = first(d["landingPage"], at(m, "links.itemPage"))
	return d
}

// arcgisDataset rewrites a dataset of an ArcGIS Hub. Its address leads to a service that answers
// queries, and not to a file.
func arcgisDataset(m map[string]any) map[string]any {
	d := map[string]any{
		"title": first(m["title"], m["name"]), "description": first(m["description"], m["searchDescription"], m["snippet"]), "landingPage": m["landingPage"],
		"publisher": first(m["source"], m["orgName"], text(m["organization"]), m["owner"]),
		"license":   license(at(m, "structuredLicense.url"), at(m, "structuredLicense.type"), m["license"], m["licenseInfo"]),
		"issued":    since1970(m["created"], time.Millisecond), "modified": since1970(m["modified"], time.Millisecond), "keywords": m["tags"],
		"variableMeasured": each(m["fields"], func(v any) any { return column(at(v, "name"), at(v, "type"), at(v, "alias")) }),
	}
	if u := text(m["url"]); u != "" {
		d["distribution"] = map[string]any{"accessURL": u, "name": m["name"], "format": m["type"]}
	}
	return d
}
