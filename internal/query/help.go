package query

// Help describes the search language in a dozen lines, for `curtsy search --help` and the search
// page. docs/reference/search-syntax.md describes it in full.
const Help = `two words              pages with both; some will do if there are none
three words or more    one of them may be missing, unless one is in quotes
"two words"            in a row, and exactly so; quotes also keep signs: gcc "-Wall"
-word  -"two words"    pages without it, as NOT word; but -i is an option, and looked for
+word                  this very word, as if it were in quotes
one OR two  one | two  either; a b OR c is a, and b or c
word*                  words that begin like this, at least two letters
title:word             in the title; also title:"two words"
site:example.org       on this host and its subdomains; also site:example.org/docs/
inurl:text             in the address
lang:de  type:pdf      in this language, of this type; also type:text/html
after:2023-05          dated May 2023 or later; also a year or a day
before:2024            dated before 2024
version:16             in this field of site rules; also version:14..16 version:>=15
sort:date  sort:-date  oldest or newest first; also a field of site rules
-site: -inurl: -lang: -type: and -FIELD: leave pages out; C++, os.path.join and .htaccess are words
`
