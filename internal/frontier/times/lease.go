package times

import "time"

// Lease is how long a visit lasts without being renewed (L of design §3). The fetcher counts it
// from when it asks. The owner counts it from its answer, and two percent longer. So whatever
// happens, the fetcher stops first.
const Lease = 10 * time.Second

// OwnerLease is how long an owner counts a lease: two percent longer than its fetcher does.
const OwnerLease = Lease + Lease/50
