// Package lenientjson reads text that is nearly JSON and yields strict JSON.
//
// Publishers write JSON by hand and with templates. What cannot be meant otherwise is forgiven: a
// comma too many, a comment, a raw line end in a string, an unknown escape, NaN. What cannot be
// read, such as an unescaped quote in a string, costs only the entry that it is in: the member of
// the list of datasets. Everything that was forgiven or left out is in a Report, with the byte of
// the input. Text that encoding/json accepts comes back unchanged, with an empty Report.
//
// Reader is for documents of any length: it keeps one entry in memory, MaxEntry bytes at most.
// Fix is for documents that are in memory. Both read each byte at most twice, so time is linear in
// the length of the input, and their output does not depend on how the input is cut into reads.
//
//   - reader.go: the reader, and what it keeps in memory
//   - source.go, output.go: that; wide.go: input in UTF-16 or UTF-32
//   - step.go: one token after the other; text.go, word.go, space.go: strings, words and what is
//     between tokens
//   - wrap.go: what stands around the JSON
//   - recover.go: leaving out an entry that cannot be read
package lenientjson
