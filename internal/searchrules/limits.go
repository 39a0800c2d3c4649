package searchrules

// A file that exceeds a limit is refused.
const (
	// MaxFile is how many bytes a file of search rules has at most. It is stored in the settings of
	// the crawl, which are one message.
	MaxFile = 256 << 10
	// MaxSynonymsFile is how many bytes a file in Solr's format has at most.
	MaxSynonymsFile = 1 << 20
	MaxLines        = 10_000 // lines of synonyms, in all languages together
	MaxLine         = 4096   // bytes of a line of synonyms
	MaxTerms        = 100    // words and phrases of a line
	MaxWords        = 8      // words of a phrase
	MaxResults      = 1000   // queries in results
	MaxPins         = 20     // pinned results of a query
	MaxHidden       = 100    // hidden results of a query
	MaxBoosts       = 50     // boosts of a query
	MaxDemotions    = 200    // parts of sites that rank lower
	MaxBoost        = 10     // the largest factor of a boost, and of a weight
	// MaxExpansions is how many synonyms of a query are used.
	MaxExpansions = 64
)
