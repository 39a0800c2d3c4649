// Package fair divides what is scarce among parties, so that no site and no stranger takes what
// others need (design §8.3). It knows neither hosts nor requests: whoever has something scarce
// names the parties that want it, and what it cost.
package fair
