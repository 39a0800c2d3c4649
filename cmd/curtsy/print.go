package main

import (
	"encoding/json"
	"fmt"

	"github.com/curtsy/curtsy/internal/crawl"
)

// printJSON writes v as one line, without the escapes that only HTML needs.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(crawl.SafeJSONTo(a.stdout))
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printLine prints the result of an action, if there is any.
func (a *app) printLine(text string, err error) error {
	if err == nil && text != "" {
		fmt.Fprintln(a.stdout, text)
	}
	return err
}
