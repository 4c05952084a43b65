-- When an account wants to hear that its money runs out, and when it last did: `notified_at` is the mark.
CREATE TABLE thresholds (
  account_id            TEXT PRIMARY KEY REFERENCES accounts (id),
  below_nanos           INTEGER CHECK (below_nanos >= 0),
  email                 TEXT,
  webhook_url           TEXT,
  sealed_webhook_secret TEXT,
  notified_at           INTEGER
) STRICT, WITHOUT ROWID;

-- Every try at delivering a notice of the outbox; a notice that is sent again goes on counting.
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
