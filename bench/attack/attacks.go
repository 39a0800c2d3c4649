package main

// attacks are all attacks, in the order in which they run.
var attacks = []Attack{
	{"slow-robots", "400 names of one domain, whose robots.txt takes 20 s", slowRobots},
	{"slow-address", "400 domains at one address, whose robots.txt takes 20 s", slowAddress},
}
