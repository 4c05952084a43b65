-- Whom owners have asked to join an account. One that has ended is kept for a day, since it counts to what may be sent in one.
CREATE TABLE invitations (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  email      TEXT NOT NULL,
  email_key  TEXT NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('owner', 'member', 'viewer')),
  sent_by    TEXT,
  sent_at    INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at   INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX invitations_by_address ON invitations (email_key, account_id) WHERE ended_at IS NULL;
CREATE INDEX invitations_by_account ON invitations (account_id, sent_at);
