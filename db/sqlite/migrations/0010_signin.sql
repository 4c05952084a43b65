-- The sign-in provider: applications, people, and what the protocol leaves between two requests.
CREATE TABLE clients (
  id            TEXT PRIMARY KEY,
  name          TEXT NOT NULL,
  redirect_uris TEXT NOT NULL CHECK (json_valid(redirect_uris)),
  logout_uris   TEXT NOT NULL CHECK (json_valid(logout_uris)),
  requires_pkce INTEGER NOT NULL,
  secret_sha256 TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- `email_key` is the address without regard to case.
CREATE TABLE people (
  id              TEXT PRIMARY KEY,
  email           TEXT NOT NULL,
  email_key       TEXT NOT NULL UNIQUE,
  email_verified  INTEGER NOT NULL,
  name            TEXT,
  account_id      TEXT REFERENCES accounts (id),
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  last_sign_in_at INTEGER,
  disabled_at     INTEGER
) STRICT, WITHOUT ROWID;

-- Sessions, interactions, grants, codes and tokens, by the digest of their id: the id alone would let its reader in.
CREATE TABLE artifacts (
  kind        TEXT NOT NULL,
  sha256      TEXT NOT NULL,
  payload     TEXT NOT NULL CHECK (json_valid(payload)),
  grant_id    TEXT,
  uid         TEXT,
  person_id   TEXT,
  client_id   TEXT,
  consumed_at INTEGER,
  expires_at  INTEGER NOT NULL,
  PRIMARY KEY (kind, sha256)
) STRICT, WITHOUT ROWID;

CREATE INDEX artifacts_by_grant ON artifacts (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX artifacts_by_uid ON artifacts (uid) WHERE uid IS NOT NULL;
CREATE INDEX artifacts_by_person ON artifacts (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX artifacts_by_client ON artifacts (client_id) WHERE client_id IS NOT NULL;
CREATE INDEX artifacts_by_expiry ON artifacts (expires_at);

-- The code that an interaction waits for.
CREATE TABLE mail_codes (
  interaction TEXT PRIMARY KEY,
  email       TEXT NOT NULL,
  hmac        TEXT NOT NULL,
  attempts    INTEGER NOT NULL DEFAULT 0,
  expires_at  INTEGER NOT NULL,
  used_at     INTEGER
) STRICT, WITHOUT ROWID;

-- One row for every code that was sent lately: what the bounds are counted by.
CREATE TABLE mail_code_counts (
  n         INTEGER PRIMARY KEY,
  email_key TEXT NOT NULL,
  peer      TEXT NOT NULL,
  at        INTEGER NOT NULL
) STRICT;

CREATE INDEX mail_code_counts_by_time ON mail_code_counts (at);

CREATE TABLE signing_keys (
  id         TEXT PRIMARY KEY,
  sealed_jwk TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  retired_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE signin_secrets (
  name   TEXT PRIMARY KEY,
  sealed TEXT NOT NULL
) STRICT, WITHOUT ROWID;
