-- The order of invalidations that all processes on this database share; see package
-- sqltier. A position is an epoch and a number.

-- +goose Up
CREATE TABLE invalidation_log (
    seq        INTEGER NOT NULL CHECK (seq IN (1, 2)), -- 1: keys, 2: prefixes and tags
    epoch      INTEGER NOT NULL,
    n          INTEGER NOT NULL, -- 0: the epoch's bump
    prev_epoch INTEGER NOT NULL, -- of a bump: where the sequence ended before
    prev_n     INTEGER NOT NULL,
    at         INTEGER NOT NULL, -- microseconds since 1970
    mark       BLOB NOT NULL,    -- random id: tells it from another record in its place
    prev_mark  BLOB NOT NULL,    -- that of the record before it; empty: there was none
    payload    BLOB NOT NULL,
    PRIMARY KEY (seq, epoch, n)
) STRICT, WITHOUT ROWID;

-- One row: where both sequences end. They begin their epochs together.
CREATE TABLE invalidation_meta (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    epoch   INTEGER NOT NULL,
    mark    BLOB NOT NULL,   -- of the records that began the epoch: its id
    key_n   INTEGER NOT NULL,
    scope_n INTEGER NOT NULL,
    bound   INTEGER NOT NULL -- microseconds: the largest that anybody used
) STRICT;

-- +goose Down
DROP TABLE invalidation_meta;
DROP TABLE invalidation_log;
