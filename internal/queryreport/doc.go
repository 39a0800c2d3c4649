// Package queryreport records what is searched for, if an operator has switched that on: which
// queries are frequent, which find nothing, and of which no hit is opened.
//
// Of each query and day it keeps how often it was asked and how often without results, how many
// pages the last answer had, and which hits were opened at which rank. It keeps nothing about who
// asked: no addresses, no cookies, no programs, and no times but the day.
//
// The record is the file queries.db in a data directory. A Report counts in memory, and opens the
// file only while it adds the counts. So several processes can count in one file, and `curtsy
// queries` can read it at any time. Everything has a limit; of too many queries the rarest are
// removed. A damaged file or a full disk never disturbs a search: Report.Err and the log say so.
package queryreport
