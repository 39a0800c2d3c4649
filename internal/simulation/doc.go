// Package simulation crawls a random web with several frontiers, fetchers and indexers in one
// bubble of virtual time, adds faults, and then checks every promise of design.md §3. It consists
// only of tests; a run is determined by one number, its seed:
//
//	make sim SEEDS=1000 FROM=1
//	make mutate
//
// TestRobotSimulation adds sites that let mobile robots in, and TestFeedSimulation feeds that keep
// sinks in step with a web that changes.
//
// A seed determines the web, the services and the faults. It does not determine the order in which
// goroutines run, so a seed that failed may need several attempts.
package simulation
