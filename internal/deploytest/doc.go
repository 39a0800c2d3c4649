// Package deploytest contains only tests of what an operator runs: the binaries as separate
// processes, and the containers of deploy/. They need the build tag external, and Docker.
package deploytest
