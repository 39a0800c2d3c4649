// Package searchrules reads search rules: the controls with which a team tunes the search of its
// crawl. They are one file in YAML, whose text is stored in the crawl's settings
// (crawl.Spec.SearchRules):
//
//	synonyms: |                   # in the format of Solr, for all languages
//	  car, automobile             # each also finds the other
//	  http daemon, httpd => apache
//	results:                      # what certain queries find
//	  - query: install
//	    match: words              # all queries with this word; exact (or nothing): only this query
//	    pin: [https://docs.example.org/install.html]
//	    hide: [https://docs.example.org/old/install.html]
//	    boost: [{url: https://docs.example.org/guide/, by: 2}]
//	demote:                       # parts of sites that rank lower, whatever the query
//	  - {site: docs.example.org/archive, by: 0.5}
//	weights: {title: 2, freshness: 1}
//
// Rules decide about ranks only. No URL is fetched, refused or stored because of them.
//
// Words of rules and of queries are compared in lower case, without accents and by their English
// stems, so that a rule for "library" is also one for "libraries". Words of the synonyms of another
// language are compared by the stems of that language. Names such as C++ are compared as a whole.
//
// Start with Parse or Of, then see Rules.For, which the search calls with each query.
package searchrules
