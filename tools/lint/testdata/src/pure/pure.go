// Package pure does not use what functions return.
package pure

import (
	"fmt"
	"strings"
)

// Calls has some calls.
func Calls(s string) string {
	strings.TrimSpace(s)  // want `result of strings.TrimSpace call not used`
	fmt.Sprintf("%s?", s) // want `result of fmt.Sprintf call not used`
	fmt.Println(strings.ToUpper(s))
	return strings.TrimSpace(s)
}
