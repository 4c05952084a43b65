-- What many keys write at the same time lies side by side: a group of requests by a thousand keys wrote a page for each of
-- them, where they now share a dozen.

CREATE TABLE key_days_by_day (
  key_id      TEXT NOT NULL REFERENCES keys (id),
  day         INTEGER NOT NULL,
  spent_nanos INTEGER NOT NULL,
  requests    INTEGER NOT NULL,
  PRIMARY KEY (day, key_id)
) STRICT, WITHOUT ROWID;
INSERT INTO key_days_by_day SELECT key_id, day, spent_nanos, requests FROM key_days ORDER BY day, key_id;
DROP TABLE key_days;
ALTER TABLE key_days_by_day RENAME TO key_days;

CREATE TABLE end_user_days_by_day (
  key_id      TEXT NOT NULL REFERENCES keys (id),
  day         INTEGER NOT NULL,
  end_user    TEXT NOT NULL,
  spent_nanos INTEGER NOT NULL,
  requests    INTEGER NOT NULL,
  PRIMARY KEY (day, key_id, end_user)
) STRICT, WITHOUT ROWID;
INSERT INTO end_user_days_by_day SELECT key_id, day, end_user, spent_nanos, requests FROM end_user_days
  ORDER BY day, key_id, end_user;
DROP TABLE end_user_days;
ALTER TABLE end_user_days_by_day RENAME TO end_user_days;

-- The admitted requests of the log by their key, so that its windows can be read back. An index would be written with every
-- line, on another page for every key; this is brought up to the log thousands of lines at a time. It has every line before
-- `window_slots_end`, and the log itself tells of those behind it.
CREATE TABLE window_slots (
  key_id        TEXT NOT NULL,
  admitted_at   INTEGER NOT NULL,
  generation_id TEXT NOT NULL,
  PRIMARY KEY (key_id, admitted_at, generation_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE window_slots_end (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  below TEXT NOT NULL
) STRICT;

INSERT INTO window_slots SELECT key_id, admitted_at, generation_id FROM activity WHERE admitted = 1
  ORDER BY key_id, admitted_at, generation_id;
INSERT INTO window_slots_end SELECT 1, coalesce(max(generation_id) || '~', '') FROM activity;
DROP INDEX activity_windows;

-- The ledger anew, for its check alone: of a list of words SQLite makes a table for every row, and every request has one.
CREATE TABLE ledger_anew (
  id            TEXT PRIMARY KEY,
  account_id    TEXT NOT NULL REFERENCES accounts (id),
  kind          TEXT NOT NULL CHECK (kind = 'charge' OR kind = 'top_up' OR kind = 'adjust' OR kind = 'refund'),
  amount_nanos  INTEGER NOT NULL,
  at            INTEGER NOT NULL,
  key_id        TEXT,
  generation_id TEXT,
  rub_per_usd   TEXT NOT NULL,
  price_version TEXT,
  note          TEXT,
  ref           TEXT,
  day           INTEGER,
  end_user      TEXT,
  CHECK (kind <> 'charge' OR substr(id, 5) = substr(generation_id, 5))
) STRICT, WITHOUT ROWID;
INSERT INTO ledger_anew SELECT id, account_id, kind, amount_nanos, at, key_id, generation_id, rub_per_usd, price_version,
  note, ref, day, end_user FROM ledger ORDER BY id;
DROP TABLE ledger;
ALTER TABLE ledger_anew RENAME TO ledger;
CREATE UNIQUE INDEX ledger_refs ON ledger (ref) WHERE ref IS NOT NULL;
CREATE TRIGGER ledger_is_append_only_update BEFORE UPDATE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_is_append_only_delete BEFORE DELETE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
