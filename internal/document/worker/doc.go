// Package worker reads documents in child processes, so that a hostile document affects only its
// own child. A child is the same program, started again (/proc/self/exe). It reads documents from
// its standard input, answers on its standard output, and does nothing else: before the first
// document it gives up what it does not need.
//
//   - Memory: Options.Memory of data in addition to what a child has when it starts (RLIMIT_DATA).
//   - CPU: Options.CPU seconds for each document (RLIMIT_CPU, raised by that much for each), and
//     Options.Wall by the clock, after which this process kills it.
//   - Files and network: none can be opened or created (RLIMIT_NOFILE and RLIMIT_FSIZE of 0). On
//     Linux on amd64 and arm64 the kernel also refuses all system calls except about forty that
//     move bytes between open files, manage memory and threads, and return the time (seccomp).
//     That needs no privileges. If the kernel has no seccomp, the limits still apply.
//   - Answers: limited in length by the parent.
//
// A child that violates a limit dies. Its document has an outcome, and the next document gets
// another child. If the child had read other documents before, the document is read once more in a
// new child before it is blamed. If the child was killed from outside, the document is tried again
// later. A child reads several documents, because starting one costs more than reading most
// documents, but not indefinitely: any state that a document has left behind must disappear.
//
// On systems other than Linux, only child processes, time and the length of answers are limited.
package worker
