package main

// attacks are all attacks, in the order in which they run.
var attacks = []Attack{
	{"slow-robots", "400 names of one domain, whose robots.txt takes 29 s", slowRobots},
	{"slow-address", "400 domains at one address, whose robots.txt takes 29 s", slowAddress},
	{"dear-pdfs", "60 names of one domain with small PDFs that are dear to read", dearPDFs},
	{"many-links", "300 domains with pages of 10,000 links, without a delay", manyLinks},
	{"bombs", "100 domains whose answers become a thousand times larger", bombs},
	{"victim", "300 names of one domain that have another site asked", victim},
	{"slow-posts", "3,000 slow POSTs to --listen, with 1,024 descriptors", slowPosts},
	{"wrong-tokens", "200 wrong tokens from the operator's address", wrongTokens},
	{"linked-files", "symbolic links in the data directory", linkedFiles},
	{"hostile-warc", "WARC and CDXJ files that lie", hostileWARC},
	{"stored-markup", "markup in everything that is stored of a site", storedMarkup},
}
