-- Where an application is told that a session of its person has ended, and which are yet to be told.
ALTER TABLE clients ADD COLUMN backchannel_logout_uri TEXT;

CREATE TABLE logouts (
  id          TEXT PRIMARY KEY,
  client_id   TEXT NOT NULL REFERENCES clients (id) ON DELETE CASCADE,
  person_id   TEXT NOT NULL,
  sid         TEXT NOT NULL,
  tries       INTEGER NOT NULL DEFAULT 0,
  next_try_at INTEGER NOT NULL,
  ended_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX logouts_by_time ON logouts (next_try_at);
