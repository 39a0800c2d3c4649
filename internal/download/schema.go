package download

import (
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// schema is a Table Schema (Frictionless) of a file.
type schema struct {
	Fields []field `json:"fields"`
}

type field struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
}

// schemaOf makes a schema of the columns of a dataset. It returns nil if the dataset has no file or
// several: which of them has these columns is not guessed.
func schemaOf(d *crawl.DatasetInfo) *schema {
	files := 0
	for i := range d.Files {
		if !d.Files[i].Directory {
			files++
		}
	}
	if files != 1 || len(d.Columns) == 0 {
		return nil
	}
	s := &schema{}
	for _, c := range d.Columns {
		s.Fields = append(s.Fields, field{Name: c.Name, Type: fieldTypes[strings.ToLower(c.Type)], Description: c.Description})
	}
	return s
}

// fieldTypes maps the names of types in documents that describe columns (Table Schema, Croissant,
// R) to the types of Table Schema. A type that is not here is left out.
var fieldTypes = map[string]string{
	"string": "string", "text": "string", "character": "string", "factor": "string", "varchar": "string",
	"integer": "integer", "int": "integer", "int32": "integer", "int64": "integer",
	"number": "number", "float": "number", "double": "number", "numeric": "number", "float32": "number", "float64": "number",
	"boolean": "boolean", "bool": "boolean", "logical": "boolean",
	"date": "date", "datetime": "datetime", "time": "time", "year": "year", "duration": "duration",
	"object": "object", "array": "array", "list": "list", "geopoint": "geopoint", "geojson": "geojson", "any": "any",
}
