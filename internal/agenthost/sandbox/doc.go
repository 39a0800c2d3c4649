// Package sandbox runs one mobile robot in a child process that can do nothing but ask its parent.
//
// A robot is a WebAssembly module. The child is this program, started again. It gives up what it
// does not need (internal/confine), receives module and input on its standard input, compiles and
// runs the module with wazero, and asks its parent for everything that a robot may have: paths,
// documents, a place for results. The parent answers with a [Host]. Each message has at most
// 64 KiB, so the memory of the parent does not depend on what a robot does.
//
// What a robot can use is limited:
//
//   - Memory: Options.Memory of linear memory, and a fixed amount for its code and the runtime
//     (RLIMIT_DATA).
//   - CPU: Options.CPU (RLIMIT_CPU), compiling included. The child is killed, so a loop needs no
//     checks that it would run more slowly with.
//   - Work of the host: its answers may take Options.CPU as well, by the clock.
//   - Time: Options.Wall by the clock.
//   - Of WASI (preview 1) it has what runtimes of languages need. There are no files, no arguments
//     and no sockets. The environment has one variable, for the garbage collector of Go. Clocks
//     show whole seconds (see ticks). Standard output and standard error are lines of the log.
//
// A child ends with its parent: at the end of its input, and by a signal from the kernel.
package sandbox
