-- The house: accounts, keys, catalogue, money and the log. Amounts are nano-dollars, instants are epoch milliseconds.

CREATE TABLE accounts (
  id            TEXT PRIMARY KEY,
  name          TEXT NOT NULL UNIQUE,
  created_at    INTEGER NOT NULL,
  balance_nanos INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
  id                  TEXT PRIMARY KEY,
  account_id          TEXT NOT NULL REFERENCES accounts (id),
  name                TEXT NOT NULL,
  kind                TEXT NOT NULL CHECK (kind IN ('ordinary', 'provisioning')),
  label               TEXT NOT NULL,
  note                TEXT,
  rpm_limit           INTEGER CHECK (rpm_limit > 0),
  rpd_limit           INTEGER CHECK (rpd_limit > 0),
  concurrency_limit   INTEGER CHECK (concurrency_limit > 0),
  daily_spend_nanos   INTEGER CHECK (daily_spend_nanos >= 0),
  monthly_spend_nanos INTEGER CHECK (monthly_spend_nanos >= 0),
  allowed_models      TEXT CHECK (json_valid(allowed_models)),
  created_at          INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL,
  last_used_at        INTEGER,
  expires_at          INTEGER,
  disabled_at         INTEGER,
  revoked_at          INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX keys_by_account ON keys (account_id, id);
CREATE INDEX keys_by_name ON keys (name);

-- Secrets live apart from keys, so that a rotation keeps a key's id, limits and counters. Only digests are kept.
CREATE TABLE key_secrets (
  sha256     BLOB PRIMARY KEY,
  key_id     TEXT NOT NULL REFERENCES keys (id),
  label      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX key_secrets_by_key ON key_secrets (key_id);

-- What each key spent on each UTC day, by the moment of admission; a month is the sum of its days.
CREATE TABLE key_days (
  key_id       TEXT NOT NULL REFERENCES keys (id),
  day          INTEGER NOT NULL,
  spent_nanos  INTEGER NOT NULL,
  requests     INTEGER NOT NULL,
  PRIMARY KEY (key_id, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE providers (
  name              TEXT PRIMARY KEY,
  type              TEXT NOT NULL,
  base_url          TEXT NOT NULL,
  sealed_credential TEXT,
  created_at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE models (
  id                    TEXT PRIMARY KEY,
  provider              TEXT NOT NULL REFERENCES providers (name) ON DELETE CASCADE,
  upstream_name         TEXT NOT NULL,
  name                  TEXT NOT NULL,
  description           TEXT NOT NULL,
  created_at            INTEGER NOT NULL,
  context_length        INTEGER,
  max_completion_tokens INTEGER,
  input_modalities      TEXT NOT NULL CHECK (json_valid(input_modalities)),
  output_modalities     TEXT NOT NULL CHECK (json_valid(output_modalities)),
  supported_parameters  TEXT NOT NULL CHECK (json_valid(supported_parameters))
) STRICT, WITHOUT ROWID;

-- Prices are never changed, only followed; they outlive their model because charges name them. They retire with it, so
-- that a model added again under an old name is not sold at an old price.
CREATE TABLE price_versions (
  id             TEXT PRIMARY KEY,
  model_id       TEXT NOT NULL,
  effective_from INTEGER NOT NULL,
  prices         TEXT NOT NULL CHECK (json_valid(prices)),
  retired        INTEGER NOT NULL DEFAULT 0 CHECK (retired IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX price_versions_by_model ON price_versions (model_id, effective_from);

CREATE TRIGGER price_versions_retire_with_model AFTER DELETE ON models
BEGIN UPDATE price_versions SET retired = 1 WHERE model_id = OLD.id; END;

CREATE TABLE rates (
  effective_from INTEGER PRIMARY KEY,
  rub_per_usd    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A hold stands from admission until it is settled or voided; one that outlived its process is voided at start.
CREATE TABLE holds (
  generation_id TEXT PRIMARY KEY,
  request_id    TEXT NOT NULL,
  account_id    TEXT NOT NULL REFERENCES accounts (id),
  key_id        TEXT NOT NULL REFERENCES keys (id),
  model         TEXT NOT NULL,
  amount_nanos  INTEGER NOT NULL CHECK (amount_nanos >= 0),
  admitted_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Append-only: a movement is never changed or deleted; the balance of an account is the sum of its entries. A charge
-- shares the body of its generation's id, so that the primary key itself allows one charge per generation.
CREATE TABLE ledger (
  id            TEXT PRIMARY KEY,
  account_id    TEXT NOT NULL REFERENCES accounts (id),
  kind          TEXT NOT NULL CHECK (kind IN ('charge', 'top_up', 'adjust', 'refund')),
  amount_nanos  INTEGER NOT NULL,
  at            INTEGER NOT NULL,
  key_id        TEXT,
  generation_id TEXT,
  rub_per_usd   TEXT NOT NULL,
  price_version TEXT,
  note          TEXT,
  ref           TEXT,
  CHECK (kind <> 'charge' OR substr(id, 5) = substr(generation_id, 5))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX ledger_refs ON ledger (ref) WHERE ref IS NOT NULL;

CREATE TRIGGER ledger_is_append_only_update BEFORE UPDATE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_is_append_only_delete BEFORE DELETE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

CREATE TABLE activity (
  generation_id      TEXT PRIMARY KEY,
  request_id         TEXT NOT NULL,
  account_id         TEXT NOT NULL,
  key_id             TEXT NOT NULL,
  admitted           INTEGER NOT NULL CHECK (admitted IN (0, 1)),
  model              TEXT NOT NULL,
  provider           TEXT,
  end_user           TEXT,
  stream             INTEGER NOT NULL CHECK (stream IN (0, 1)),
  status             INTEGER NOT NULL,
  code               TEXT,
  ended_by           TEXT NOT NULL,
  finish_reason      TEXT,
  started_at         INTEGER NOT NULL,
  admitted_at        INTEGER NOT NULL,
  first_event_ms     INTEGER,
  total_ms           INTEGER NOT NULL,
  input_tokens       INTEGER NOT NULL,
  cache_read_tokens  INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  output_tokens      INTEGER NOT NULL,
  reasoning_tokens   INTEGER NOT NULL,
  image_output_tokens INTEGER NOT NULL,
  input_images       INTEGER NOT NULL,
  output_images      INTEGER NOT NULL,
  usage_source       TEXT,
  cost_nanos         INTEGER NOT NULL,
  cost_rub_micros    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The windows of a key are read back from here after a restart.
CREATE INDEX activity_windows ON activity (key_id, admitted_at) WHERE admitted = 1;

-- Notices leave from here: written in the transaction that caused them, sent later, each at least once.
CREATE TABLE outbox (
  event_id    TEXT NOT NULL,
  channel     TEXT NOT NULL,
  account_id  TEXT NOT NULL REFERENCES accounts (id),
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
