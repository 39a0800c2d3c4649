package siterules

import "github.com/curtsy/curtsy/internal/rulefile"

// A file that exceeds a limit is refused.
const (
	MaxFile    = 256 << 10        // bytes of a file
	MaxEntries = 10_000           // entries of a file
	MaxFields  = 64               // fields of a site
	MaxNames   = 256              // names of fields in a file
	MaxList    = rulefile.MaxList // elements of a list
	MaxMap     = 64               // lines of a map
	MaxText    = rulefile.MaxText // bytes of a selector, an expression, a glob or a name
	maxParts   = 64               // simple selectors between combinators and commas
)

// What is beyond a limit of a page is left out, and Output.Cut says so.
const (
	MaxValues   = 32            // values of a field
	MaxKeyword  = 1 << 10       // bytes of a value, unless it is a text
	MaxLongText = 16 << 10      // bytes of a text
	MaxPage     = 64 << 10      // bytes of all values of a page
	maxNodes    = 200_000       // nodes of the tree of a page
	maxDepth    = 256           // nesting of its elements
	maxJSONLD   = 1 << 20       // bytes of JSON-LD of a page
	maxWork     = 60 << 20      // steps of CSS selectors, some nanoseconds each
	maxSteps    = 4 << 20       // steps of XPath expressions, some 100 ns each
	maxVisits   = 100_000       // values of JSON-LD that a path passes
	maxMatches  = 4 * MaxValues // elements that a selector finds for a field
)
