package shapes

// openaire rewrites a research product of the OpenAIRE Graph, if it is a dataset. Its instances are
// addresses of landing pages, of which the first counts.
func openaire(m map[string]any) map[string]any {
	if text(m["type"]) != "dataset" {
		return nil
	}
	return map[string]any{
		"identifier": each(m["pids"], func(v any) any { return doi(at(v, "value")) }), "landingPage": at(m, "instances.urls"),
		"title": m["mainTitle"], "description": at(m, "descriptions"), "version": m["version"], "publisher": m["publisher"], "issued": m["publicationDate"],
		"creator": each(m["authors"], property("fullName")), "keywords": each(m["subjects"], property("subject.value")),
		"license": each(m["instances"], property("license")),
	}
}
