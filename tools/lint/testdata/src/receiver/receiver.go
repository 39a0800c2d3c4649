// Package receiver has types whose methods do not agree.
package receiver

type one struct{}

func (o one) a()  {}
func (o *one) b() {}
func (one) c()    {}
func (_ one) d()  {}
func (x one) e()  {} // want `the receiver of one.e is x, and that of a is o`

type two[T any] struct{}

func (t two[T]) a()  {}
func (p *two[T]) b() {} // want `the receiver of two.b is p, and that of a is t`

type three struct{}

func (x three) a() {}
