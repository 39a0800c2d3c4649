// Package unused has code that nothing uses.
package unused

// Exported is used by others.
func Exported() { used() }

func used() {}

func left() {} // want `func left is unused`

type record struct { // want `type record is unused`
	field int
}
