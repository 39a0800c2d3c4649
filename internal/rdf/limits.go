package rdf

// Limits of a document. They are far above what catalogues contain, and bound the memory for one
// statement to a few MiB.
const (
	maxIRI        = 8 << 10   // bytes of an IRI
	maxName       = 512       // bytes of a prefix, a language, a number or the label of a node
	maxLiteral    = 128 << 10 // bytes of a literal; a longer one is truncated
	maxDepth      = 64        // nested blank nodes and collections, or elements
	maxPrefixes   = 1000      // prefixes in effect
	maxToken      = 512 << 10 // bytes of a tag, a text or a declaration in XML
	maxReferences = 64 << 10  // character and entity references in one of them
	maxEntities   = 100       // entities that a document declares
	maxEntity     = 256       // bytes of the value of an entity
	maxMistakes   = 20        // mistakes that are described; all are counted
)
