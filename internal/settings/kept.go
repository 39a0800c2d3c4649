package settings

import (
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/usage"
)

var keptSettings = []Setting{
	{
		Name: "purpose", Group: "What is kept", ZeroIsDefault: true,
		Usage:   "what you fetch pages for, a ‹WORD›: search, ai-input, ai-train or tdm (repeatable)",
		Example: "search", Words: usage.PurposeNames(),
		Doc: "What pages are fetched for: search, ai-input, ai-train, tdm. A page that its site allows for none of them is not requested, or not stored. " +
			"With more than search, tdmrep.json and the licence of a site are read before its pages.",
		Decides: Refusals,
		value: field[[]string]{at: func(s *crawl.Spec) *[]string { return &s.Purposes }, standard: []string{usage.Search.String()},
			check: checkPurposes, set: func(s *crawl.Spec, list []string) { s.Purposes = PurposeNames(list) }},
	},
	{
		Name: "types", Group: "What is kept", Common: true, ZeroIsDefault: true,
		Usage:   "keep these types of documents, a ‹LIST› of html, text, markdown, data, feed, pdf, office",
		Example: "html,text,pdf,office", Words: crawl.TypeNames(),
		Doc: "Types of documents: html, text (plain), markdown, data (CSV, tab-separated, JSON), feed (RSS, Atom), pdf, office (docx, xlsx, pptx, odt, ods, odp). " +
			"All but the first three are read in separate processes, within limits.",
		Decides: Refusals,
		value: field[[]string]{at: func(s *crawl.Spec) *[]string { return &s.Types }, standard: crawl.DefaultTypes.Names(),
			check: checkTypes, set: func(s *crawl.Spec, list []string) { s.Types = typeNames(list) }},
	},
	{
		Name: "render", Group: "What is kept", Common: true, ZeroIsDefault: true, NotPlanned: true,
		Usage:   "run the scripts of pages in HTML before they are stored: ‹WORD› is {}",
		Example: crawl.RenderAuto, Choices: renders,
		Doc: "Run the scripts of pages in HTML before they are stored: never, auto (of pages that have scripts and almost no text without them), always. " +
			"After a change, pages that need it and were stored without are fetched again; other pages follow it when they are fetched next.",
		Decides: Refusals,
		value: field[string]{at: func(s *crawl.Spec) *string { return &s.Render }, standard: crawl.RenderNever, check: checkRender,
			set: func(s *crawl.Spec, word string) { s.Render = renderWord(word) }},
	},
	{
		Name: "render-load", Group: "What is kept", NotPlanned: true,
		Usage:   "what rendered pages may request besides scripts, styles and data, a ‹LIST› of image, font, media",
		Example: "image", Words: renderLoads,
		Doc: "What pages that are rendered may request besides scripts, styles and data: image, font, media (sound and video).",
		value: field[[]string]{at: func(s *crawl.Spec) *[]string { return &s.RenderLoad }, check: checkRenderLoad,
			set: func(s *crawl.Spec, list []string) { s.RenderLoad = renderLoadNames(list) }},
	},
	{
		Name: "data-json", Group: "What is kept",
		Usage: "where /data.txt is requested, request the dataset catalogue /data.json too",
		Doc:   "Where /data.txt is requested, request the catalogue of datasets in /data.json too.",
		value: field[bool]{at: func(s *crawl.Spec) *bool { return &s.DataJSON }, standard: true},
	},
	{
		Name: "accept-markdown", Group: "What is kept",
		Usage: "request pages as Markdown, and keep the Markdown where a site has it",
		Doc:   "Request pages as Markdown (Accept: text/markdown). Markdown is stored and searched where a site has it, and HTML elsewhere.",
		value: field[bool]{at: func(s *crawl.Spec) *bool { return &s.AcceptMarkdown }},
	},
	{
		Name: "security-txt", Group: "What is kept", NotPlanned: true,
		Usage: "read the security contact of each site (/.well-known/security.txt)",
		Doc:   "Request the security contact of each site (/.well-known/security.txt) once in 30 days; curtsy hosts shows it.",
		value: field[bool]{at: func(s *crawl.Spec) *bool { return &s.SecurityTxt }},
	},
	{
		Name: "warc", Group: "What is kept", Common: true, NotPlanned: true,
		Usage: "archive responses in WARC files in ‹DIR› (empty: no archive)", Example: "./warc",
		Doc: "Archive responses in WARC files in this directory, for example ./warc; empty: no archive. With several indexers, it is a directory on the machine of each.",
		value: field[string]{at: func(s *crawl.Spec) *string { return &s.WARC },
			set: func(s *crawl.Spec, dir string) { s.WARC = absolute(dir) }},
	},
	{
		Name: "search", Group: "What is kept", NotPlanned: true,
		Usage: "index the text of pages for curtsy search",
		Doc:   "Index the text of pages for curtsy search.",
		value: field[bool]{at: func(s *crawl.Spec) *bool { return &s.Search }, standard: true},
	},
}
