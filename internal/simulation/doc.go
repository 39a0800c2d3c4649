// Package simulation crawls a random web with several frontiers, fetchers and indexers in one
// bubble of virtual time, puts faults in, and then checks every promise of design §3. All of it is
// tests; a run is made from one number, its seed:
//
//	make sim SEEDS=1000 FROM=1
//	make mutate
//
// A seed repeats the web, the services and the faults. It does not repeat the order in which
// goroutines run, so a seed that failed may need several tries.
package simulation
