// Package exported has names with and without comments.
package exported

type Bare struct{} // want `Bare has no comment`

func (Bare) Method() {} // want `Bare.Method has no comment`

func (*Bare) Pointer() {} // want `Bare.Pointer has no comment`

func (Bare) hidden() {}

func NewBare() Bare { return Bare{} } // want `NewBare has no comment`

// Fine is fine.
type Fine struct{}

// Method is fine.
func (Fine) Method() {}

// Something else.
func (Fine) Other() {} // want `the comment of Fine.Other does not begin with its name`

// An Article may come first.
type Article struct{}

// Longer is another name.
type Long struct{} // want `the comment of Long does not begin with its name`

// This is how it was once.
func Once() {} // want `the comment of Once does not begin with its name`

type hidden struct{}

func (hidden) Method() {}

func Bald() {} // want `Bald has no comment`

func quiet() {}

const Alone = 1 + // want `Alone has no comment`
	1

const (
	Behind = 1 // has its comment here
	silent = 3
	// Above has its comment here.
	Above = 4
)

// A group.
const (
	One = 1
	Two = 2
)

// The others are elsewhere.
var Elsewhere int // want `the comment of Elsewhere does not begin with its name`

var Loose, Ends = 1, // want `Loose has no comment` `Ends has no comment`
	2

const (
	First  Kind = iota // a comment
	Second             // another
)

// Kind is fine.
type Kind int

type (
	// Inner is fine.
	Inner int
	Outer int // want `Outer has no comment`
)
