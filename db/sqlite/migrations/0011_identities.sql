-- Third parties that people may sign in by: each an issuer once, its secret sealed.
CREATE TABLE identity_providers (
  name              TEXT PRIMARY KEY,
  type              TEXT NOT NULL CHECK (type IN ('oidc', 'github')),
  label             TEXT NOT NULL,
  issuer            TEXT NOT NULL UNIQUE,
  client_id         TEXT NOT NULL,
  sealed_secret     TEXT NOT NULL,
  authoritative_for TEXT NOT NULL CHECK (json_valid(authoritative_for)),
  created_at        INTEGER NOT NULL,
  updated_at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Whom a third party knows by which name: never by an address, which may become somebody else's.
CREATE TABLE identities (
  issuer       TEXT NOT NULL REFERENCES identity_providers (issuer) ON DELETE CASCADE,
  subject      TEXT NOT NULL,
  person_id    TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  told_name    TEXT,
  linked_at    INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX identities_by_person ON identities (person_id);

-- The way of an interaction to a third party and back. The state is forgotten when it has come back once; a subject then
-- waits here for an address to be proved.
CREATE TABLE detours (
  interaction  TEXT PRIMARY KEY,
  provider     TEXT NOT NULL REFERENCES identity_providers (name) ON DELETE CASCADE,
  state_sha256 TEXT,
  subject      TEXT,
  told_name    TEXT,
  told_email   TEXT,
  expires_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX detours_by_expiry ON detours (expires_at);
