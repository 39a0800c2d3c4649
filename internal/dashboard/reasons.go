package dashboard

import "github.com/curtsy/curtsy/internal/crawl"

// allReasons are the reasons there are, in the order of the alphabet.
var allReasons = func() (all []string) {
	for _, r := range crawl.Reasons() {
		all = append(all, string(r))
	}
	return all
}()

// reasonWord says what a reason means; of one that is not known nothing.
func reasonWord(reason string) string { return crawl.Reason(reason).Words() }
