package elastic

import (
	"encoding/json"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/siterules"
)

// object is a JSON object.
type object = map[string]any

// fieldsProperty is the property whose properties are the fields of the site rules.
const fieldsProperty = "fields"

// keyword is compared as a whole. Longer values are stored and not found: a term of the index has
// at most 32,766 bytes, and a character at most 4.
var keyword = object{"type": "keyword", "ignore_above": 8191}

// properties is the mapping of a document. What is not in it is stored and returned, and not
// searched, because the mapping is not dynamic: a page cannot add fields to an index, which has
// 1,000 at most.
func properties(fields []siterules.FieldInfo) object {
	titled := object{"type": "text", "fields": object{"keyword": object{"type": "keyword", "ignore_above": 512}}}
	all := object{
		"url": keyword, "host": keyword, "canonical": keyword, "aliases": keyword, "alias_of": keyword, "found_on": keyword,
		"title": titled, "description": object{"type": "text"}, "text": object{"type": "text"}, "markdown": object{"type": "text"},
		"lang": keyword, "content_type": keyword, "sha256": keyword, "withheld": keyword,
		"status": object{"type": "integer"}, "depth": object{"type": "integer"}, "size": object{"type": "long"},
		"fetched_at": object{"type": "date"},
		"truncated":  object{"type": "boolean"},
		"crawl":      keyword, "shard": object{"type": "integer"}, "generation": object{"type": "long"},
	}
	own := object{}
	for _, f := range fields {
		own[f.Name] = property(f.Type)
	}
	all[fieldsProperty] = object{"type": "object", "dynamic": false, "properties": own}
	return all
}

// property is the mapping of a field. One value and many have the same.
func property(t crawl.FieldType) object {
	switch t {
	case crawl.FieldNumber:
		return object{"type": "double"}
	case crawl.FieldDate:
		return object{"type": "date"}
	case crawl.FieldBoolean:
		return object{"type": "boolean"}
	case crawl.FieldText:
		return object{"type": "text"}
	default:
		return keyword
	}
}

// template is the index template for the indices of a rollover.
func template(index string, fields []siterules.FieldInfo) object {
	return object{
		"index_patterns": []string{index + "-0*"},
		"priority":       200, // templates that the servers come with have 100
		"template": object{
			"mappings": object{"dynamic": false, "properties": properties(fields)},
		},
		"_meta": object{"description": "pages of Curtsy: docs/guides/feed.md"},
	}
}

// Template is the body of the request that makes the index template for an index, in JSON, with an
// end of line.
func Template(index string, fields []siterules.FieldInfo) ([]byte, error) {
	b, err := json.MarshalIndent(template(index, fields), "", "  ")
	return append(b, '\n'), err
}
