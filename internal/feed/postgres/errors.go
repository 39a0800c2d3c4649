package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/curtsy/curtsy/internal/feed"
)

// kind is what an error of the server means.
type kind int

const (
	passing   kind = iota // it may work later
	data                  // this page is never accepted
	permanent             // an operator must mend something
)

// kindOf decides by the SQLSTATE: by its class, which is its first two characters, or as a whole.
// (PostgreSQL documentation, appendix A.)
func kindOf(code string) kind {
	switch code {
	case "25006", // read_only_sql_transaction: a standby, until it is promoted
		"55P03", // lock_not_available
		"57014": // query_canceled, also by statement_timeout
		return passing
	}
	switch code[:min(2, len(code))] {
	case "22", // data exception
		"23", // integrity constraint: also of triggers and checks that the operator has added
		"54", // program limit: a row or a value that is too large
		"P0": // raised by a trigger
		return data
	case "08", // connection
		"40",       // rollback: deadlock, serialization
		"53",       // resources: disk full, too many connections
		"55",       // object in use
		"57", "58", // shutdown, errors of the system
		"XX": // internal error
		return passing
	}
	return permanent
}

// advice is the next step for classes of permanent errors.
func advice(code string) string {
	switch {
	case strings.HasPrefix(code, "28"):
		return "check the user in the URL and CURTSY_FEED_PASSWORD, and pg_hba.conf of the server"
	case code == "3D000":
		return "make the database, with createdb, or name another one in the URL"
	case code == "3F000":
		return "make the schema, with CREATE SCHEMA, or name another one with table=SCHEMA.NAME"
	case code == "42501":
		return "GRANT the user SELECT, INSERT, UPDATE and DELETE on both tables, and CREATE on the schema for the first start"
	case code == "42P01":
		return "the table was removed; start the feed again to make it"
	case code == "42P10":
		return "the column id needs a primary key or a unique index"
	case code == "42804" || code == "42846":
		return "a column has another type than the feed writes; name another table with table=NAME"
	default:
		return "see the message of the server"
	}
}

// classify makes a permanent error of an error that an operator must mend. Errors of connections
// have no code and pass.
func classify(err error) error {
	var p *pgconn.PgError
	if err == nil || !errors.As(err, &p) || kindOf(p.Code) == passing {
		return err
	}
	return &feed.Permanent{Err: fmt.Errorf("%w: %s", err, advice(p.Code))}
}

// reason is why the server refuses a page, and whether it does.
func reason(err error) (text string, refused bool) {
	var p *pgconn.PgError
	if !errors.As(err, &p) || kindOf(p.Code) != data {
		return "", false
	}
	text = p.Message + " (SQLSTATE " + p.Code + ")"
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	if len(text) > mostReason {
		text = strings.ToValidUTF8(text[:mostReason], "") + "…"
	}
	return text, true
}

// mostReason is how many bytes of a server's message are kept.
const mostReason = 500
