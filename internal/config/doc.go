// Package config fills one struct per command from flags, environment, file and defaults. Flags
// override the environment, the environment overrides the file, and the file overrides the
// defaults. It is the only package that knows viper; all others see plain structs. The settings of
// a crawl come from the table in internal/settings.
//
// A setting has one name everywhere. What the command line calls --max-pages is CURTSY_MAX_PAGES in
// the environment and max-pages or max_pages in the file. The file is YAML; --config or
// CURTSY_CONFIG names it, and no other file is read. The file and the environment may serve several
// commands. A command ignores the keys of other commands. A key that no command knows is an error,
// which names the nearest key that exists.
//
//	cfg := config.NewCrawl()
//	src := config.Bind(cmd.Flags(), cfg) // registers the flags
//	…                                    // cobra parses them
//	err := src.Load()                    // fills cfg, then checks it
//
// Every error names the key, its value, the origin of that value, and a value that would be
// accepted. Durations are written with their unit (1s, 250ms, 0s), sizes with or without one
// (10MiB, 64KB, 4096). Lists are repeated flags, YAML lists, and in the environment words separated
// by blanks. Settings of single hosts are lists too (`resolve: ["a.test=127.0.0.1"]`), because
// viper ignores the case of mapping keys.
//
// Secrets are never flags, because every user of the machine can read flags in the process table.
// They come from a file (nats-password-file) or from the environment (CURTSY_NATS_PASSWORD), and
// print as "[secret]".
package config
