-- What the SQLite engine has, for several nodes: the same columns where a table means the same, and beside them the state that
-- one process keeps in memory. Amounts are nano-dollars, instants are epoch milliseconds. Text is compared byte by byte.

-- A node has one epoch at a time; one that was ended is never used again.
CREATE TABLE nodes (
  name     text COLLATE "C" PRIMARY KEY,
  epoch    text COLLATE "C" NOT NULL,
  version  text COLLATE "C" NOT NULL,
  beat_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Since when no beat has failed to come.
  beating_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- How far its clock is ahead of that of the database.
  ahead_ms bigint NOT NULL DEFAULT 0,
  -- How far that of its machine is, which its own is set by no more.
  machine_ms bigint NOT NULL DEFAULT 0
);
CREATE TABLE ended_epochs (epoch text COLLATE "C" PRIMARY KEY, ended_at bigint NOT NULL);
-- Claims of which their node does not know what became of them: they are admitted no more, should their call still run.
CREATE TABLE given_up (generation_id text COLLATE "C" PRIMARY KEY, at bigint NOT NULL);
-- Sealed by the first node that comes with a master key: whoever cannot open it has another one.
CREATE TABLE sealed_word (one int PRIMARY KEY CHECK (one = 1), sealed text COLLATE "C" NOT NULL);
-- Where all of it is now: nothing opens it any more.
CREATE TABLE moved (one int PRIMARY KEY CHECK (one = 1), place text COLLATE "C" NOT NULL, at bigint NOT NULL);

CREATE TABLE accounts (
  id                 text COLLATE "C" PRIMARY KEY,
  name               text COLLATE "C" NOT NULL UNIQUE,
  created_at         bigint NOT NULL,
  member_daily_nanos bigint,
  limits             text COLLATE "C" NOT NULL DEFAULT '{}',
  closed_at          bigint,
  rpm         bigint GENERATED ALWAYS AS ((limits::jsonb ->> 'rpm')::bigint) STORED,
  rpd         bigint GENERATED ALWAYS AS ((limits::jsonb ->> 'rpd')::bigint) STORED,
  tpm         bigint GENERATED ALWAYS AS ((limits::jsonb ->> 'tpm')::bigint) STORED,
  concurrency bigint GENERATED ALWAYS AS ((limits::jsonb ->> 'concurrency')::bigint) STORED,
  daily       bigint GENERATED ALWAYS AS ((limits::jsonb ->> 'dailySpend')::bigint) STORED,
  monthly     bigint GENERATED ALWAYS AS ((limits::jsonb ->> 'monthlySpend')::bigint) STORED
);

-- What requests change of an account, in one narrow row that no index but its key knows, so that updates stay in their page. Its
-- lock is the only one: whoever changes the state of an account or of its keys holds it, and takes several in the order of ids.
-- `pos` is the place of the last request on a time line that goes on where the clock is set back (`set_back`, `steps`); all windows of the
-- account lie on it. Until `stepped_to` on that line, or while requests lie ahead of the clock (`newest_at`), windows are counted
-- by both. `day` and `month` are those of the sums; a sum that is not `summed` is read again from the days.
CREATE TABLE account_state (
  account_id    text COLLATE "C" PRIMARY KEY REFERENCES accounts (id),
  balance_nanos bigint NOT NULL DEFAULT 0,
  held_nanos    bigint NOT NULL DEFAULT 0,
  in_progress   bigint NOT NULL DEFAULT 0,
  pos           bigint NOT NULL DEFAULT 0,
  set_back      bigint NOT NULL DEFAULT 0,
  steps         bigint[] NOT NULL DEFAULT '{}',
  newest_at     bigint NOT NULL DEFAULT 0,
  stepped_to    bigint NOT NULL DEFAULT 0,
  taken         bigint NOT NULL DEFAULT 0,
  day           bigint NOT NULL DEFAULT -1,
  summed        boolean NOT NULL DEFAULT false,
  spent_day     bigint NOT NULL DEFAULT 0,
  held_day      bigint NOT NULL DEFAULT 0,
  spent_month   bigint NOT NULL DEFAULT 0,
  held_month    bigint NOT NULL DEFAULT 0,
  mark_day      bigint NOT NULL DEFAULT 0,
  mark_month    bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.01);

CREATE TABLE keys (
  id           text COLLATE "C" PRIMARY KEY,
  account_id   text COLLATE "C" NOT NULL REFERENCES accounts (id),
  name         text COLLATE "C" NOT NULL,
  kind         text COLLATE "C" NOT NULL CHECK (kind IN ('ordinary', 'provisioning')),
  label        text COLLATE "C" NOT NULL,
  note         text COLLATE "C",
  limits       text COLLATE "C" NOT NULL DEFAULT '{}',
  created_at   bigint NOT NULL,
  updated_at   bigint NOT NULL,
  last_used_at bigint,
  expires_at   bigint,
  disabled_at  bigint,
  revoked_at   bigint,
  made_by      text COLLATE "C",
  rpm         bigint GENERATED ALWAYS AS ((limits::jsonb ->> 'rpm')::bigint) STORED,
  rpd         bigint GENERATED ALWAYS AS ((limits::jsonb ->> 'rpd')::bigint) STORED,
  tpm         bigint GENERATED ALWAYS AS ((limits::jsonb ->> 'tpm')::bigint) STORED,
  concurrency bigint GENERATED ALWAYS AS ((limits::jsonb ->> 'concurrency')::bigint) STORED,
  daily       bigint GENERATED ALWAYS AS ((limits::jsonb ->> 'dailySpend')::bigint) STORED,
  monthly     bigint GENERATED ALWAYS AS ((limits::jsonb ->> 'monthlySpend')::bigint) STORED,
  user_rpm    bigint GENERATED ALWAYS AS ((limits::jsonb ->> 'endUserRpm')::bigint) STORED,
  user_daily  bigint GENERATED ALWAYS AS ((limits::jsonb ->> 'endUserDailySpend')::bigint) STORED
);
CREATE INDEX keys_by_account ON keys (account_id, id);
CREATE INDEX keys_by_name ON keys (name);

-- The same of a key. `users` are the end users that have a row of their own on its day.
CREATE TABLE key_state (
  key_id       text COLLATE "C" PRIMARY KEY REFERENCES keys (id),
  held_nanos   bigint NOT NULL DEFAULT 0,
  in_progress  bigint NOT NULL DEFAULT 0,
  taken        bigint NOT NULL DEFAULT 0,
  day          bigint NOT NULL DEFAULT -1,
  spent_day    bigint NOT NULL DEFAULT 0,
  held_day     bigint NOT NULL DEFAULT 0,
  spent_month  bigint NOT NULL DEFAULT 0,
  held_month   bigint NOT NULL DEFAULT 0,
  mark_day     bigint NOT NULL DEFAULT 0,
  mark_month   bigint NOT NULL DEFAULT 0,
  users        bigint NOT NULL DEFAULT 0,
  last_used_at bigint
) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.01);

CREATE TABLE key_secrets (
  sha256     bytea PRIMARY KEY,
  key_id     text COLLATE "C" NOT NULL REFERENCES keys (id),
  label      text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint
);
CREATE INDEX key_secrets_by_key ON key_secrets (key_id);

CREATE TABLE key_days (
  key_id      text COLLATE "C" NOT NULL,
  day         bigint NOT NULL,
  spent_nanos bigint NOT NULL,
  requests    bigint NOT NULL,
  PRIMARY KEY (key_id, day)
) WITH (fillfactor = 60);
CREATE INDEX key_days_by_day ON key_days (day);
CREATE TABLE end_user_days (
  key_id      text COLLATE "C" NOT NULL,
  day         bigint NOT NULL,
  end_user    text COLLATE "C" NOT NULL,
  spent_nanos bigint NOT NULL,
  requests    bigint NOT NULL,
  mark        bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (key_id, day, end_user)
) WITH (fillfactor = 60);

-- A slot for each admitted request: its number among those of its key, and of its account, grows with its place, so that a window
-- is one look-up, whatever its limit.
CREATE TABLE slots (
  generation_id text COLLATE "C" NOT NULL,
  key_id        text COLLATE "C" NOT NULL,
  account_id    text COLLATE "C" NOT NULL,
  at            bigint NOT NULL,
  pos           bigint NOT NULL,
  nth           bigint NOT NULL,
  account_nth   bigint NOT NULL,
  end_user      text COLLATE "C",
  counted_as    text COLLATE "C"
);
CREATE INDEX slots_of_key ON slots (key_id, pos, nth);
CREATE INDEX slots_of_account ON slots (account_id, pos, account_nth);
CREATE INDEX slots_of_user ON slots (key_id, end_user, pos) WHERE end_user IS NOT NULL;
CREATE INDEX slots_by_time ON slots USING brin (at);

-- One whose epoch was ended is no request in progress any more (`ended_at`); what its node still settles is charged late.
CREATE TABLE holds (
  generation_id   text COLLATE "C" PRIMARY KEY,
  request_id      text COLLATE "C" NOT NULL,
  account_id      text COLLATE "C" NOT NULL,
  key_id          text COLLATE "C" NOT NULL,
  model           text COLLATE "C" NOT NULL,
  amount_nanos    bigint NOT NULL CHECK (amount_nanos >= 0),
  admitted_at     bigint NOT NULL,
  end_user        text COLLATE "C",
  counted_as      text COLLATE "C",
  day             bigint NOT NULL,
  node            text COLLATE "C" NOT NULL,
  epoch           text COLLATE "C" NOT NULL,
  idempotency_key text COLLATE "C",
  body_sha256     text COLLATE "C",
  surface         text COLLATE "C" NOT NULL,
  session         text COLLATE "C",
  tokens          bigint NOT NULL,
  ended_at        bigint,
  -- Since when somebody wants it ended; its node looks for that.
  kill_at         bigint
);
CREATE INDEX holds_to_kill ON holds (node) WHERE kill_at IS NOT NULL;
CREATE INDEX holds_ended ON holds (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX holds_by_account ON holds (account_id);
CREATE INDEX holds_by_key ON holds (key_id, counted_as);
CREATE INDEX holds_by_epoch ON holds (epoch);
CREATE UNIQUE INDEX holds_by_name ON holds (key_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE ledger (
  id            text COLLATE "C" PRIMARY KEY,
  account_id    text COLLATE "C" NOT NULL,
  kind          text COLLATE "C" NOT NULL CHECK (kind IN ('charge', 'top_up', 'adjust', 'refund')),
  amount_nanos  bigint NOT NULL,
  at            bigint NOT NULL,
  key_id        text COLLATE "C",
  generation_id text COLLATE "C",
  rub_per_usd   text COLLATE "C" NOT NULL,
  price_version text COLLATE "C",
  note          text COLLATE "C",
  ref           text COLLATE "C",
  day           bigint,
  end_user      text COLLATE "C",
  CHECK (kind <> 'charge' OR substr(id, 5) = substr(generation_id, 5))
);
CREATE UNIQUE INDEX ledger_refs ON ledger (ref) WHERE ref IS NOT NULL;

CREATE TABLE acts (
  id      text COLLATE "C" PRIMARY KEY,
  at      bigint NOT NULL,
  who     text COLLATE "C" NOT NULL,
  verb    text COLLATE "C" NOT NULL,
  target  text COLLATE "C",
  changed text COLLATE "C" NOT NULL
);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$;
CREATE TRIGGER ledger_is_append_only BEFORE UPDATE OR DELETE ON ledger FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER acts_are_append_only BEFORE UPDATE OR DELETE ON acts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE activity (
  generation_id         text COLLATE "C" PRIMARY KEY,
  request_id            text COLLATE "C" NOT NULL,
  account_id            text COLLATE "C" NOT NULL,
  key_id                text COLLATE "C" NOT NULL,
  admitted              boolean NOT NULL,
  model                 text COLLATE "C" NOT NULL,
  provider              text COLLATE "C",
  end_user              text COLLATE "C",
  stream                boolean NOT NULL,
  status                bigint NOT NULL,
  code                  text COLLATE "C",
  ended_by              text COLLATE "C" NOT NULL,
  finish_reason         text COLLATE "C",
  started_at            bigint NOT NULL,
  admitted_at           bigint NOT NULL,
  first_event_ms        bigint,
  total_ms              bigint NOT NULL,
  input_tokens          bigint NOT NULL,
  cache_read_tokens     bigint NOT NULL,
  cache_write_tokens    bigint NOT NULL,
  image_input_tokens    bigint NOT NULL,
  output_tokens         bigint NOT NULL,
  reasoning_tokens      bigint NOT NULL,
  image_output_tokens   bigint NOT NULL,
  input_images          bigint NOT NULL,
  output_images         bigint NOT NULL,
  search_units          bigint NOT NULL,
  usage_source          text COLLATE "C",
  cost_nanos            bigint NOT NULL,
  cost_rub_micros       bigint NOT NULL,
  failed_attempts       text COLLATE "C",
  operator_cost_nanos   bigint NOT NULL,
  stated_cost_nanos     bigint,
  image_resolution      text COLLATE "C",
  image_quality         text COLLATE "C",
  refusal               text COLLATE "C",
  hold_nanos            bigint,
  lowered_bound         bigint,
  cache_write_1h_tokens bigint NOT NULL,
  server_calls          text COLLATE "C",
  modifiers             text COLLATE "C",
  surface               text COLLATE "C" NOT NULL,
  session               text COLLATE "C",
  cut_tools             text COLLATE "C",
  credential            text COLLATE "C"
);
CREATE INDEX activity_beyond_hold ON activity (started_at) WHERE cost_nanos > hold_nanos;

CREATE TABLE kept_since (log text COLLATE "C" PRIMARY KEY, since bigint NOT NULL);
CREATE TABLE steady_time (one int PRIMARY KEY CHECK (one = 1), at bigint NOT NULL);

CREATE TABLE answers (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key_id          text COLLATE "C" NOT NULL REFERENCES keys (id),
  idempotency_key text COLLATE "C" NOT NULL,
  body_sha256     text COLLATE "C" NOT NULL,
  generation_id   text COLLATE "C" NOT NULL,
  content_type    text COLLATE "C" NOT NULL,
  bytes           bigint NOT NULL,
  created_at      bigint NOT NULL,
  whole           boolean NOT NULL
);
CREATE UNIQUE INDEX answers_by_name ON answers (key_id, idempotency_key) WHERE whole;
CREATE INDEX answers_staged ON answers (id) WHERE NOT whole;
CREATE TABLE answer_pieces (
  answer_id bigint NOT NULL REFERENCES answers (id) ON DELETE CASCADE,
  place     bigint NOT NULL,
  body      bytea NOT NULL,
  PRIMARY KEY (answer_id, place)
);
ALTER TABLE answer_pieces ALTER body SET STORAGE EXTERNAL;

CREATE TABLE catalogue_version (one int PRIMARY KEY CHECK (one = 1), version bigint NOT NULL);
INSERT INTO catalogue_version VALUES (1, 1);
CREATE TABLE providers (
  name          text COLLATE "C" PRIMARY KEY,
  type          text COLLATE "C" NOT NULL,
  base_url      text COLLATE "C" NOT NULL,
  created_at    bigint NOT NULL,
  output_bound  text COLLATE "C",
  learned_bound text COLLATE "C",
  revision      bigint NOT NULL
);
CREATE TABLE credentials (
  provider text COLLATE "C" NOT NULL REFERENCES providers (name) ON DELETE CASCADE,
  name     text COLLATE "C" NOT NULL,
  weight   bigint NOT NULL CHECK (weight > 0),
  sealed   text COLLATE "C" NOT NULL,
  PRIMARY KEY (provider, name)
);
CREATE TABLE models (
  id                    text COLLATE "C" PRIMARY KEY,
  kind                  text COLLATE "C" NOT NULL,
  embedding_space       text COLLATE "C",
  provider              text COLLATE "C" NOT NULL REFERENCES providers (name) ON DELETE CASCADE,
  upstream_name         text COLLATE "C" NOT NULL,
  name                  text COLLATE "C" NOT NULL,
  description           text COLLATE "C" NOT NULL,
  created_at            bigint NOT NULL,
  context_length        bigint,
  max_completion_tokens bigint,
  catalogued            bigint NOT NULL DEFAULT 0,
  images_per_answer     bigint NOT NULL DEFAULT 1,
  wires                 text COLLATE "C",
  input_modalities      text COLLATE "C" NOT NULL,
  output_modalities     text COLLATE "C" NOT NULL,
  supported_parameters  text COLLATE "C" NOT NULL
);
CREATE INDEX models_by_provider ON models (provider);
CREATE TABLE price_versions (
  id             text COLLATE "C" PRIMARY KEY,
  model_id       text COLLATE "C" NOT NULL,
  effective_from bigint NOT NULL,
  prices         text COLLATE "C" NOT NULL,
  retired        bigint NOT NULL DEFAULT 0
);
CREATE INDEX price_versions_by_model ON price_versions (model_id);
CREATE FUNCTION retire_prices() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN UPDATE price_versions SET retired = 1 WHERE model_id = OLD.id; RETURN NULL; END $$;
CREATE TRIGGER price_versions_retire_with_model AFTER DELETE ON models FOR EACH ROW EXECUTE FUNCTION retire_prices();
CREATE TABLE aliases (name text COLLATE "C" PRIMARY KEY, model_id text COLLATE "C" NOT NULL REFERENCES models (id) ON DELETE CASCADE);
CREATE INDEX aliases_of ON aliases (model_id);
CREATE TABLE routes (
  pattern  text COLLATE "C" PRIMARY KEY,
  model_id text COLLATE "C" UNIQUE REFERENCES models (id) ON DELETE CASCADE,
  ordering text COLLATE "C" NOT NULL
);
CREATE TABLE hops (
  pattern       text COLLATE "C" NOT NULL REFERENCES routes (pattern) ON DELETE CASCADE,
  provider      text COLLATE "C" REFERENCES providers (name) ON DELETE CASCADE,
  upstream_name text COLLATE "C" NOT NULL,
  position      bigint NOT NULL,
  weight        bigint NOT NULL,
  UNIQUE (pattern, provider)
);
CREATE TABLE rates (effective_from bigint PRIMARY KEY, rub_per_usd text COLLATE "C" NOT NULL, ahead bigint NOT NULL DEFAULT 0);

CREATE TABLE thresholds (
  account_id            text COLLATE "C" PRIMARY KEY REFERENCES accounts (id),
  below_nanos           bigint,
  email                 text COLLATE "C",
  webhook_url           text COLLATE "C",
  sealed_webhook_secret text COLLATE "C",
  notified_at           bigint
);
CREATE TABLE outbox (
  event_id    text COLLATE "C" NOT NULL,
  channel     text COLLATE "C" NOT NULL,
  account_id  text COLLATE "C" REFERENCES accounts (id),
  type        text COLLATE "C" NOT NULL,
  body        text COLLATE "C" NOT NULL,
  created_at  bigint NOT NULL,
  next_try_at bigint,
  tries       bigint NOT NULL DEFAULT 0,
  lease_until bigint,
  leased_by   text COLLATE "C",
  state       text COLLATE "C" NOT NULL CHECK (state IN ('pending', 'delivered', 'dead')),
  PRIMARY KEY (event_id, channel)
);
CREATE INDEX outbox_due ON outbox (next_try_at) WHERE state = 'pending';
CREATE TABLE delivery_tries (
  event_id text COLLATE "C" NOT NULL,
  channel  text COLLATE "C" NOT NULL,
  number   bigint NOT NULL,
  at       bigint NOT NULL,
  status   bigint,
  failure  text COLLATE "C",
  ms       bigint NOT NULL,
  PRIMARY KEY (event_id, channel, number),
  FOREIGN KEY (event_id, channel) REFERENCES outbox (event_id, channel) ON DELETE CASCADE
);
CREATE TABLE events (
  id         text COLLATE "C" PRIMARY KEY,
  cause      text COLLATE "C" NOT NULL,
  subject    text COLLATE "C" NOT NULL,
  severity   text COLLATE "C" NOT NULL,
  body       text COLLATE "C" NOT NULL,
  raised_at  bigint NOT NULL,
  lifted_at  bigint,
  seen_at    bigint,
  held_until bigint,
  sent_as    text COLLATE "C"
);
CREATE UNIQUE INDEX events_open ON events (cause, subject) WHERE lifted_at IS NULL;
CREATE INDEX events_of_account ON events ((body::jsonb #>> '{data,account_id}'), id);
CREATE INDEX events_held ON events (held_until) WHERE held_until IS NOT NULL;
CREATE INDEX events_unseen ON events (id) WHERE seen_at IS NULL;
CREATE TABLE notice_settings (
  id                    int PRIMARY KEY CHECK (id = 1),
  email                 text COLLATE "C",
  webhook_url           text COLLATE "C",
  sealed_webhook_secret text COLLATE "C",
  ceiling_percents      text COLLATE "C" NOT NULL,
  quiet_from            bigint,
  quiet_until           bigint,
  digest_at             bigint,
  wakes_for_critical    bigint NOT NULL
);

-- What a charge has passed, written in its transaction: the words that are sent are a node's, which takes the row out with them.
CREATE TABLE passed_marks (
  id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text COLLATE "C" NOT NULL,
  fact text COLLATE "C" NOT NULL
);

CREATE TABLE clients (
  id            text COLLATE "C" PRIMARY KEY,
  name          text COLLATE "C" NOT NULL,
  redirect_uris text COLLATE "C" NOT NULL,
  logout_uris   text COLLATE "C" NOT NULL,
  requires_pkce bigint NOT NULL,
  secret_sha256 text COLLATE "C" NOT NULL,
  created_at    bigint NOT NULL,
  updated_at    bigint NOT NULL,
  allowed       text COLLATE "C",
  for_devices   bigint NOT NULL DEFAULT 0,
  backchannel_logout_uri text COLLATE "C",
  id_token_claims bigint NOT NULL DEFAULT 1
);
CREATE TABLE logouts (
  id          text COLLATE "C" PRIMARY KEY,
  client_id   text COLLATE "C" NOT NULL REFERENCES clients (id) ON DELETE CASCADE,
  person_id   text COLLATE "C" NOT NULL,
  sid         text COLLATE "C" NOT NULL,
  tries       bigint NOT NULL DEFAULT 0,
  next_try_at bigint NOT NULL,
  ended_at    bigint NOT NULL
);
CREATE INDEX logouts_by_time ON logouts (next_try_at);
CREATE INDEX logouts_by_client ON logouts (client_id);
CREATE TABLE people (
  id              text COLLATE "C" PRIMARY KEY,
  email           text COLLATE "C" NOT NULL,
  email_key       text COLLATE "C" NOT NULL UNIQUE,
  email_verified  bigint NOT NULL,
  name            text COLLATE "C",
  created_at      bigint NOT NULL,
  updated_at      bigint NOT NULL,
  last_sign_in_at bigint,
  disabled_at     bigint,
  language        text COLLATE "C"
);
CREATE INDEX people_by_age ON people (created_at, id);
CREATE TABLE memberships (
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  person_id  text COLLATE "C" NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  role       text COLLATE "C" NOT NULL,
  since      bigint NOT NULL,
  PRIMARY KEY (account_id, person_id)
);
CREATE INDEX memberships_by_person ON memberships (person_id);
CREATE TABLE invitations (
  id         text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  email      text COLLATE "C" NOT NULL,
  email_key  text COLLATE "C" NOT NULL,
  role       text COLLATE "C" NOT NULL,
  sent_by    text COLLATE "C",
  sent_at    bigint NOT NULL,
  expires_at bigint NOT NULL,
  ended_at   bigint
);
CREATE UNIQUE INDEX invitations_by_address ON invitations (email_key, account_id) WHERE ended_at IS NULL;
CREATE INDEX invitations_by_account ON invitations (account_id, sent_at);
CREATE TABLE person_groups (
  name      text COLLATE "C" NOT NULL,
  person_id text COLLATE "C" NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  PRIMARY KEY (name, person_id)
);
CREATE INDEX person_groups_by_person ON person_groups (person_id);
CREATE TABLE revocations (subject text COLLATE "C" PRIMARY KEY, n bigint NOT NULL UNIQUE);
CREATE TABLE artifacts (
  kind        text COLLATE "C" NOT NULL,
  sha256      text COLLATE "C" NOT NULL,
  payload     text COLLATE "C" NOT NULL,
  grant_id    text COLLATE "C",
  uid         text COLLATE "C",
  person_id   text COLLATE "C",
  client_id   text COLLATE "C",
  consumed_at bigint,
  expires_at  bigint NOT NULL,
  revocations bigint NOT NULL DEFAULT 0,
  version     bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (kind, sha256)
);
CREATE INDEX artifacts_by_grant ON artifacts (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX artifacts_by_uid ON artifacts (uid) WHERE uid IS NOT NULL;
CREATE INDEX artifacts_by_person ON artifacts (person_id) WHERE person_id IS NOT NULL;
CREATE INDEX artifacts_by_client ON artifacts (client_id) WHERE client_id IS NOT NULL;
CREATE INDEX artifacts_by_expiry ON artifacts (expires_at);
CREATE TABLE mail_codes (
  interaction text COLLATE "C" PRIMARY KEY,
  email       text COLLATE "C" NOT NULL,
  hmac        text COLLATE "C" NOT NULL,
  attempts    bigint NOT NULL DEFAULT 0,
  expires_at  bigint NOT NULL,
  used_at     bigint
);
CREATE TABLE mail_code_counts (
  n         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  email_key text COLLATE "C" NOT NULL,
  peer      text COLLATE "C" NOT NULL,
  at        bigint NOT NULL
);
CREATE INDEX mail_code_counts_by_time ON mail_code_counts (at);
CREATE INDEX mail_code_counts_by_email ON mail_code_counts (email_key, at);
CREATE INDEX mail_code_counts_by_peer ON mail_code_counts (peer, at);
CREATE TABLE code_mails (
  interaction text COLLATE "C" PRIMARY KEY,
  event_id    text COLLATE "C" NOT NULL,
  sealed      text COLLATE "C" NOT NULL,
  tries       bigint NOT NULL DEFAULT 0,
  next_try_at bigint NOT NULL,
  expires_at  bigint NOT NULL
);
CREATE INDEX code_mails_by_try ON code_mails (next_try_at);
CREATE TABLE signing_keys (id text COLLATE "C" PRIMARY KEY, sealed_jwk text COLLATE "C" NOT NULL, created_at bigint NOT NULL, retired_at bigint);
CREATE TABLE signin_secrets (name text COLLATE "C" PRIMARY KEY, sealed text COLLATE "C" NOT NULL);
CREATE TABLE identity_providers (
  name              text COLLATE "C" PRIMARY KEY,
  type              text COLLATE "C" NOT NULL,
  label             text COLLATE "C" NOT NULL,
  issuer            text COLLATE "C" NOT NULL UNIQUE,
  client_id         text COLLATE "C" NOT NULL,
  sealed_secret     text COLLATE "C" NOT NULL,
  authoritative_for text COLLATE "C" NOT NULL,
  created_at        bigint NOT NULL,
  updated_at        bigint NOT NULL
);
CREATE TABLE identities (
  issuer       text COLLATE "C" NOT NULL REFERENCES identity_providers (issuer) ON DELETE CASCADE,
  subject      text COLLATE "C" NOT NULL,
  person_id    text COLLATE "C" NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  told_name    text COLLATE "C",
  linked_at    bigint NOT NULL,
  last_used_at bigint NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_person ON identities (person_id);
CREATE TABLE detours (
  interaction  text COLLATE "C" PRIMARY KEY,
  provider     text COLLATE "C" NOT NULL REFERENCES identity_providers (name) ON DELETE CASCADE,
  state_sha256 text COLLATE "C",
  subject      text COLLATE "C",
  told_name    text COLLATE "C",
  told_email   text COLLATE "C",
  expires_at   bigint NOT NULL
);
CREATE INDEX detours_by_expiry ON detours (expires_at);
CREATE TABLE signin_events (
  id        text COLLATE "C" PRIMARY KEY,
  at        bigint NOT NULL,
  outcome   text COLLATE "C" NOT NULL,
  method    text COLLATE "C",
  detail    text COLLATE "C",
  person_id text COLLATE "C",
  email     text COLLATE "C",
  client_id text COLLATE "C",
  address   text COLLATE "C" NOT NULL
);
CREATE INDEX signin_events_by_person ON signin_events (person_id, id) WHERE person_id IS NOT NULL;
CREATE INDEX signin_events_by_client ON signin_events (client_id, id) WHERE client_id IS NOT NULL;
CREATE TABLE passkeys (
  id            text COLLATE "C" PRIMARY KEY,
  credential_id text COLLATE "C" NOT NULL UNIQUE,
  person_id     text COLLATE "C" NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  name          text COLLATE "C" NOT NULL,
  public_key    text COLLATE "C" NOT NULL,
  counter       bigint NOT NULL,
  transports    text COLLATE "C" NOT NULL,
  synced        bigint NOT NULL,
  created_at    bigint NOT NULL,
  last_used_at  bigint
);
CREATE INDEX passkeys_by_person ON passkeys (person_id);
CREATE TABLE passkey_challenges (
  holder     text COLLATE "C" PRIMARY KEY,
  purpose    text COLLATE "C" NOT NULL,
  challenge  text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX passkey_challenges_by_expiry ON passkey_challenges (expires_at);
