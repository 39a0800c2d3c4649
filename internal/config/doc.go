// Package config fills one struct per command from, strongest first, flags, environment, file and
// defaults. It is the only package that knows viper; everybody else sees plain structs.
//
// A setting has one name everywhere. What the command line calls --max-pages is CURTSY_MAX_PAGES in
// the environment and max-pages or max_pages in the file (YAML, named by --config or CURTSY_CONFIG;
// no file is read without being named). The file and the environment may serve several commands:
// a key that belongs to another command is passed over, one that belongs to none is an error that
// names the nearest key there is.
//
//	cfg := config.NewCrawl()
//	src := config.Bind(cmd.Flags(), cfg) // registers the flags
//	…                                    // cobra parses them
//	err := src.Load()                    // fills cfg, then checks it
//
// Every error names the key, its value, where that value came from, and a value that would do.
// Durations are written with their unit (1s, 250ms, 0s), sizes with or without one (10MiB, 64KB,
// 4096). Lists are repeated flags, YAML lists, and in the environment words separated by blanks.
// What is said about single hosts is a list too (`resolve: ["a.test=127.0.0.1"]`), since viper
// folds the case of mapping keys.
//
// Secrets are never flags, which every user of the machine can read in the process table:
// they come from a file (nats-password-file) or the environment (CURTSY_NATS_PASSWORD), and
// print as "[secret]".
package config
