-- What operators are told of. Of one cause and subject one event is open at most: nobody is told twice.
CREATE TABLE events (
  id         TEXT PRIMARY KEY,
  cause      TEXT NOT NULL,
  subject    TEXT NOT NULL,
  severity   TEXT NOT NULL,
  body       TEXT NOT NULL,
  raised_at  INTEGER NOT NULL,
  lifted_at  INTEGER,
  seen_at    INTEGER,
  -- Null once its notices are in the outbox, under the id of `sent_as`.
  held_until INTEGER,
  sent_as    TEXT
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX events_open ON events (cause, subject) WHERE lifted_at IS NULL;
CREATE INDEX events_held ON events (held_until) WHERE held_until IS NOT NULL;
CREATE INDEX events_unseen ON events (id) WHERE seen_at IS NULL;

-- Where and when they are told. At most one row; none before anything was set. Times are minutes of the UTC day.
CREATE TABLE notice_settings (
  id                    INTEGER PRIMARY KEY CHECK (id = 1),
  email                 TEXT,
  webhook_url           TEXT,
  sealed_webhook_secret TEXT,
  ceiling_percents      TEXT NOT NULL,
  quiet_from            INTEGER,
  quiet_until           INTEGER,
  digest_at             INTEGER,
  wakes_for_critical    INTEGER NOT NULL
) STRICT;

-- A notice without an account is the operator's. A column cannot lose its NOT NULL, so both tables are made anew.
CREATE TABLE kept_outbox AS SELECT * FROM outbox;
CREATE TABLE kept_tries AS SELECT * FROM delivery_tries;
DROP TABLE delivery_tries;
DROP TABLE outbox;

CREATE TABLE outbox (
  event_id    TEXT NOT NULL,
  channel     TEXT NOT NULL,
  account_id  TEXT REFERENCES accounts (id),
  type        TEXT NOT NULL,
  body        TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  next_try_at INTEGER,
  tries       INTEGER NOT NULL DEFAULT 0,
  lease_until INTEGER,
  state       TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'dead')),
  PRIMARY KEY (event_id, channel)
) STRICT, WITHOUT ROWID;

CREATE INDEX outbox_due ON outbox (next_try_at) WHERE state = 'pending';

CREATE TABLE delivery_tries (
  event_id TEXT NOT NULL,
  channel  TEXT NOT NULL,
  number   INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  status   INTEGER,
  failure  TEXT,
  ms       INTEGER NOT NULL,
  PRIMARY KEY (event_id, channel, number),
  FOREIGN KEY (event_id, channel) REFERENCES outbox (event_id, channel) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

INSERT INTO outbox (event_id, channel, account_id, type, body, created_at, next_try_at, tries, lease_until, state)
  SELECT event_id, channel, account_id, type, body, created_at, next_try_at, tries, lease_until, state FROM kept_outbox;
INSERT INTO delivery_tries (event_id, channel, number, at, status, failure, ms)
  SELECT event_id, channel, number, at, status, failure, ms FROM kept_tries;
DROP TABLE kept_outbox;
DROP TABLE kept_tries;
