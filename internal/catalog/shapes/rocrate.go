package shapes

import (
	"maps"
	"slices"
	"strings"
)

// maxFolders is how deep the folders of an RO-Crate are read.
const maxFolders = 32

// Crate returns the dataset of an RO-Crate: the entity that the crate's description of itself is
// about, with its files as distributions. They are those in its hasPart, and in that of the folders
// there, which are called datasets, too. Crate returns nil if the document is no RO-Crate. Other
// nodes are still referred to by their names.
func Crate(root any) map[string]any {
	entities := map[string]map[string]any{}
	var self map[string]any
	for _, v := range list(object(root)["@graph"]) {
		m := object(v)
		id, _ := m["@id"].(string)
		if _, twice := entities[id]; id == "" || twice {
			continue
		}
		entities[id] = m
		if name := id[strings.LastIndexByte(id, '/')+1:]; name == "ro-crate-metadata.json" || name == "ro-crate-metadata.jsonld" {
			self = m
		}
	}
	whole := entities[text(at(self, "about.@id"))]
	if self == nil || whole == nil {
		return nil
	}
	c := crateFiles{entities: entities, seen: map[string]bool{}}
	c.of(whole, 0)
	d := maps.Clone(whole)
	d["distribution"] = slices.Concat(list(whole["distribution"]), c.files)
	if id := text(whole["@id"]); !strings.Contains(id, ":") { // the folder of the document
		delete(d, "@id")
	}
	return d
}

// crateFiles collects the files of an RO-Crate.
type crateFiles struct {
	entities map[string]map[string]any
	seen     map[string]bool
	files    []any
}

// of adds the files of an entity.
func (c *crateFiles) of(m map[string]any, depth int) {
	if depth > maxFolders {
		return
	}
	for _, v := range list(m["hasPart"]) {
		id := text(v)
		if id == "" {
			id = text(at(v, "@id"))
		}
		part := c.entities[id]
		if part == nil || c.seen[id] {
			continue
		}
		c.seen[id] = true
		types := list(part["@type"])
		switch {
		case slices.Contains(types, any("File")) || slices.Contains(types, any("MediaObject")):
			file := maps.Clone(part)
			if first(file["contentUrl"]) == nil {
				if strings.HasPrefix(id, "#") {
					continue // it is described, and is not there
				}
				file["contentUrl"] = id
			}
			c.files = append(c.files, file)
		case slices.Contains(types, any("Dataset")):
			c.of(part, depth+1)
		}
	}
}
