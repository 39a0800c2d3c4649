// Package worker reads documents in child processes, so that a hostile one costs its own worker and
// nothing else. A child is this very program, started again (/proc/self/exe); it reads documents
// from its standard input, answers on its standard output, and does nothing else: before the first
// document it gives up what it does not need.
//
//   - Memory: Options.Memory of data beside what a child has when it starts (RLIMIT_DATA).
//   - CPU: Options.CPU seconds for each document (RLIMIT_CPU, raised by that much for each), and
//     Options.Wall by the clock, after which this process kills it.
//   - Files and network: none can be opened or made (RLIMIT_NOFILE and RLIMIT_FSIZE of 0), and on
//     Linux on amd64 and arm64 the kernel refuses all system calls but some forty that move bytes
//     between open files, manage memory and threads, and tell the time (seccomp). That needs no
//     privileges. Where the kernel has no seccomp the limits hold all the same.
//   - Answers: no longer than a bound, which the parent keeps.
//
// A child that breaks a rule dies; its document is an outcome, and the next document gets another
// child. A document whose child has read others before is read once more, in a new one, before it
// is blamed; one whose child was killed from outside is tried again later. Children are kept for
// some documents, since starting one costs more than reading most documents, and no longer: what
// one document may have left behind must not live for ever.
//
// On other systems than Linux there are children, time and the bound of answers, and no more.
package worker
