package times

import "time"

// Lease is how long a visit lasts without being renewed (L of design.md §3). The fetcher counts it
// from the moment when it sends its request. The owner counts it from its response, and two percent
// longer. So the fetcher always stops first.
const Lease = 10 * time.Second

// OwnerLease is how long an owner counts a lease: two percent longer than its fetcher does.
const OwnerLease = Lease + Lease/50
