package app

import (
	"encoding/json"
	"fmt"

	"github.com/curtsy/curtsy/internal/crawl"
)

// PrintJSON writes v as one line, without the escapes that only HTML needs.
func (a *App) PrintJSON(v any) error {
	enc := json.NewEncoder(crawl.SafeJSONTo(a.Stdout))
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// PrintLine prints the result of an action, if there is any.
func (a *App) PrintLine(text string, err error) error {
	if err == nil && text != "" {
		fmt.Fprintln(a.Stdout, text)
	}
	return err
}
