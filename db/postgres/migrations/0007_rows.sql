-- What admission answers for a claim, and what it is to write of one that it admits. Whoever needs another one gives it a new name: functions
-- of the version before go on with these.
CREATE TYPE verdict AS (
  i bigint, code text, lim text, of_account boolean, limit_value bigint, used bigint, resets_at bigint, retry bigint, held bigint, requests bigint,
  money bigint, hold bigint, rpm bigint, minute_used bigint, minute_oldest bigint, rpd bigint, day_used bigint, day_oldest bigint, answer bigint
);
CREATE TYPE admitted AS (
  generation_id text, request_id text, node text, epoch text, key_id text, account_id text, at bigint, model text, end_user text, counted_as text,
  surface text, session text, idempotency_key text, body_sha256 text, pos bigint, nth bigint, account_nth bigint, amount_nanos bigint, day bigint, tokens bigint
);
