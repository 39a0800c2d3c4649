// Package pagetext reads what is on a page: its visible text, with headings, code and boilerplate
// marked; its title, language, description and date; its links with their anchor text; its JSON-LD;
// and the main text as Markdown. It knows nothing of stores and networks.
//
//	var x pagetext.Extractor // one for each goroutine, used for page after page
//	r := x.Read(url, "text/html", "utf-8", body)
//	fmt.Printf("%s\n%s\n", r.Title, r.Body)
//
// Four readings differ in what they cost. Title stops at the title: a few microseconds. Read goes
// over the tags once, marks the parts of the text, and finds links: tens of microseconds for a page
// of 18 KB. Text builds a tree, so that headings and hidden text are what a browser takes for them,
// at about four times the cost. Markdown builds a tree of the parts that Markdown can express.
//
// All of them accept any bytes. Each bounds its time and its memory by the length of the page.
package pagetext
