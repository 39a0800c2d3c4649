package hosts

// AddAgain counts a URL of o that is to be fetched again, from a time on (Unix s).
func (o *Origin) AddAgain(next int64) {
	if o.Again++; o.Again == 1 || o.AgainDue > 0 && next < o.AgainDue {
		o.AgainDue = next
	}
	o.changed()
}

// DropAgain takes a URL that was to be fetched again from a time on out of the counts.
func (o *Origin) DropAgain(next int64) {
	o.Again--
	if next <= o.AgainDue {
		o.AgainDue = 0 // to be looked for when it matters
	}
	o.changed()
}

// FoundAgainDue notes when the first URL of o is to be fetched again, after the plan was searched
// for it. The plan is what counts: nothing is lost if this is not written.
func (o *Origin) FoundAgainDue(next int64) { o.AgainDue = next }
