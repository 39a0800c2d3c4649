// Package hours reads hours such as "22:00-06:00" or "Mon-Fri 22:00-06:00, Sat-Sun", and answers
// whether requests may be sent at a time, and when that changes.
//
// Hours are those that a clock on the wall shows in a time zone. Where that clock is moved forward,
// the hours that it leaves out do not exist on that day. Where it is moved back, both passages of
// an hour count. A window that ends no later than it begins lasts over midnight; its days are those
// on which it begins.
package hours
