package identity

import (
	"bytes"
	_ "embed" // for the page
	"html/template"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// purposes are the meanings of the purposes, for webmasters.
var purposes = map[string]string{
	"search":   "to make pages findable: an index, links to them and short excerpts",
	"ai-input": "as input to generative models when they answer questions",
	"ai-train": "to train generative models",
	"tdm":      "for text and data mining",
}

// pageOf is the page that explains to webmasters who we are.
func pageOf(o Options, keys, ranges string) ([]byte, error) {
	type purpose struct{ Name, Means string }
	v := struct {
		Token, UserAgent, Contact, ContactURL, Keys, Ranges, RangesPath, Form, Agent string
		Pause                                                                        time.Duration
		IDs                                                                          []string
		Purposes                                                                     []purpose
	}{
		Token: o.Token, UserAgent: o.UserAgent, Keys: keys, Ranges: ranges, RangesPath: RangesPath, Form: string(o.Form), Agent: o.Agent,
		Pause: max(o.Delay, time.Second), Contact: strings.TrimPrefix(o.Contact, "mailto:"),
	}
	if o.Contact != "" {
		v.ContactURL = contactURL(o.Contact)
	}
	for _, k := range o.Keys {
		v.IDs = append(v.IDs, k.ID())
	}
	for _, p := range o.Purposes {
		v.Purposes = append(v.Purposes, purpose{p, purposes[p]})
	}
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, v)
	return b.Bytes(), err
}
