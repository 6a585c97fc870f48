package sqllog

import (
	"context"
	"database/sql"
)

func mysqlText() dialectText { return dialectText{} }

func sameMySQL(stored, identity string) bool { return stored == identity }

func (l *Log) writeMySQL(ctx context.Context, conn *sql.Conn, v *view, b *batch) (n numbered, err error) {
	return n, err
}
