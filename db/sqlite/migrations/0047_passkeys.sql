-- Keys that people's devices keep, and sign in with. `counter` is the device's own.
CREATE TABLE passkeys (
  id            TEXT PRIMARY KEY,
  credential_id TEXT NOT NULL UNIQUE,
  person_id     TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  name          TEXT NOT NULL,
  public_key    TEXT NOT NULL,
  counter       INTEGER NOT NULL,
  transports    TEXT NOT NULL CHECK (json_valid(transports)),
  synced        INTEGER NOT NULL CHECK (synced IN (0, 1)),
  created_at    INTEGER NOT NULL,
  last_used_at  INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX passkeys_by_person ON passkeys (person_id);

-- What a device is to sign: forgotten when it has come back once.
CREATE TABLE passkey_challenges (
  holder     TEXT PRIMARY KEY,
  purpose    TEXT NOT NULL CHECK (purpose IN ('add', 'use')),
  challenge  TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX passkey_challenges_by_expiry ON passkey_challenges (expires_at);
