package siterules

import "strings"

// kind is a set of properties of an element in the HTML standard.
type kind uint16

const (
	void    kind = 1 << iota // it has no content
	special                  // no inline end tag reaches through it
	endsP                    // its start tag ends a paragraph
	heading
	inHead  // it may stand in the head
	inTable // a part of a table
	scope   // the search for an element to end stops here
	buttons // likewise, for paragraphs
	lists   // likewise, for items of lists
	lists2  // likewise, for their end tags
	tables  // likewise, for parts of tables
	block   // its text is not joined to the text around it
	unseen  // its content is no text
	leaves  // it ends a drawing or a formula
	rawText // its content is written as it is
)

var kinds = map[string]kind{}

func init() {
	for names, k := range map[string]kind{
		"area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr": void,
		"address applet area article aside base basefont bgsound blockquote body br button caption center col colgroup dd details dir div dl dt " +
			"embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe img input keygen li " +
			"link listing main marquee menu meta nav noembed noframes noscript object ol p param plaintext pre script search section select source style " +
			"summary table tbody td template textarea tfoot th thead title tr track ul wbr xmp": special,
		"address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header hgroup main menu nav ol p " +
			"search section summary ul h1 h2 h3 h4 h5 h6 pre listing form li dd dt plaintext xmp hr": endsP,
		"h1 h2 h3 h4 h5 h6": heading,
		"base basefont bgsound link meta noscript script style template title noframes": inHead,
		"caption col colgroup tbody td tfoot th thead tr":                               inTable,
		"applet caption html table td th marquee object template":                       scope,
		"button": buttons,
		"applet area article aside base blockquote body button caption center col colgroup dir dl details " +
			"fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup html iframe main marquee menu nav object ol " +
			"pre section select summary table tbody td template tfoot th thead tr ul": lists,
		"ol ul": lists2,
		"b big blockquote body br code em embed i img li meta nobr pre ruby s small span strong strike sub sup table tt u var": leaves,
		"html table template": tables,
		"address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure footer form " +
			"h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol option p pre section select summary table tbody td tfoot th thead tr ul": block,
		"script style template noscript noframes noembed iframe": unseen,
		"script style xmp iframe noembed noframes":               rawText,
	} {
		for name := range strings.FieldsSeq(names) {
			kinds[name] |= k
		}
	}
	for _, name := range []string{"dd", "dt", "li"} {
		// These bound each other's search through their lists only.
		kinds[name] &^= lists
	}
}
