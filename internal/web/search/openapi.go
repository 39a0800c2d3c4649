package search

import (
	_ "embed"
	"net/http"
)

// openAPIDocument is OpenAPI 3.1. A test compares it with the code.
//
//go:embed openapi.json
var openAPIDocument []byte

// openAPI answers /api/openapi.json.
func (w *Web) openAPI(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write(openAPIDocument)
}
