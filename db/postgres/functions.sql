-- Admission and settlement of a batch, each one transaction. The rules are those of judgeClaim, judgeLowBalance and passedMark in the
-- domain: a test holds both against each other. Locks: the accounts' rows alone, in the order of ids, never across a network trip.
--
-- From top to bottom: days and the time line; windows of requests, and of tokens; admit; settle; what ends an epoch or a claim; what reports read; the days of the log.

CREATE OR REPLACE FUNCTION month_of(day bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (date_trunc('month', timestamp '1970-01-01' + day * interval '1 day')::date - date '1970-01-01')::bigint $$;
CREATE OR REPLACE FUNCTION next_month(day bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ((date_trunc('month', timestamp '1970-01-01' + day * interval '1 day') + interval '1 month')::date - date '1970-01-01')::bigint $$;

-- Nearly always it is the same day.
CREATE OR REPLACE FUNCTION same_month(one bigint, other bigint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT one = other OR month_of(one) = month_of(other) $$;

-- The day that an account counts on: a step back of less than a day stays in the day.
CREATE OR REPLACE FUNCTION day_at(at bigint, counted bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN at / 86400000 + 1 = counted THEN counted ELSE at / 86400000 END $$;

-- The place of an instant on an account's time line, which goes on across backward steps of the clock; what it was ahead by before each
-- step is in `steps`. A clock that reaches the line again by one of these was behind, and is corrected: it goes on by the clock. One that
-- jumps ahead of the line is corrected too if one of these brings it nearer, within five minutes or by far: otherwise time has passed.
CREATE OR REPLACE FUNCTION place_of(at bigint, INOUT pos bigint, INOUT set_back bigint, INOUT steps bigint[]) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE short bigint; ahead bigint;
BEGIN
  WHILE cardinality(steps) > 0 LOOP
    short := pos - (at + steps[cardinality(steps)]);
    ahead := at + set_back - pos;
    EXIT WHEN short > 5000 AND NOT (ahead > 5000 AND short < ahead AND (short < 300000 OR short < ahead / 4));
    set_back := steps[cardinality(steps)];
    steps := trim_array(steps, 1);
  END LOOP;
  IF at + set_back < pos - 5000 THEN
    steps := (steps || set_back)[greatest(1, cardinality(steps) - 6):];
    set_back := pos - at;
  ELSE pos := at + set_back;
  END IF;
END $$;

-- A window, of the key or the account of this id, while the clock is, or was, set: a request is in it by the clock or by its place, whichever holds it longer. The wait is
-- until so many are left that `lim` is not reached; without one, until the oldest leaves. No place is before its instant, so that what lies
-- before the window by the clock (`pos > at_ - span`) is in it by neither.
CREATE OR REPLACE FUNCTION stepped_window(id text, span bigint, at_ bigint, pos_ bigint, lim bigint,
  OUT used bigint, OUT oldest bigint, OUT wait bigint) LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
DECLARE leaves bigint[];
BEGIN
  SELECT array_agg(ms ORDER BY ms) INTO leaves FROM (
    SELECT greatest(CASE WHEN s.at > at_ - span AND s.at < at_ + span THEN least(s.at, at_) + span - at_ ELSE 0 END,
                    s.pos + span - pos_) AS ms
    FROM slots s WHERE (s.account_id = id AND s.pos > at_ - span) OR (s.key_id = id AND s.pos > at_ - span)) found WHERE ms > 0;
  used := coalesce(cardinality(leaves), 0);
  oldest := coalesce(leaves[1], 0);
  wait := CASE WHEN used >= lim THEN leaves[used - lim + 1] ELSE 0 END;
END $$;

-- How long until a window that is full has a free slot: the place of the request that has to leave, by bisection in the table.
CREATE OR REPLACE FUNCTION slot_wait(of_account boolean, id text, span bigint, pos_ bigint, taken bigint, lim bigint)
RETURNS bigint LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
DECLARE lo bigint := pos_ - span; hi bigint := pos_ + 5001; mid bigint; n bigint; s bigint := taken - lim + 1;
BEGIN
  WHILE hi - lo > 1 LOOP
    mid := (lo + hi) / 2;
    IF of_account THEN SELECT account_nth INTO n FROM slots WHERE account_id = id AND pos > mid ORDER BY pos, account_nth LIMIT 1;
    ELSE SELECT nth INTO n FROM slots WHERE key_id = id AND pos > mid ORDER BY pos, nth LIMIT 1; END IF;
    IF n IS NULL OR n > s THEN hi := mid; ELSE lo := mid; END IF;
  END LOOP;
  RETURN hi + span - pos_;
END $$;

-- A window of the key, or of the account, of this id: how many are in it, until when the oldest is, and, while the clock is set, until when `lim` is
-- reached. Numbers grow with places, so that it is one look-up. `taken` is the number of the last slot, `written` that of the last in the table,
-- and `first_pos` the place of the one after that.
CREATE OR REPLACE FUNCTION count_window(of_account boolean, id text, span bigint, at_ bigint, pos_ bigint, stepped boolean, taken bigint, written bigint,
  first_pos bigint, lim bigint, OUT used bigint, OUT oldest bigint, OUT wait bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE n bigint; p bigint;
BEGIN
  IF stepped THEN SELECT w.used, w.oldest, w.wait INTO used, oldest, wait FROM stepped_window(id, span, at_, pos_, lim) w; RETURN; END IF;
  IF of_account THEN SELECT s.account_nth, s.pos INTO n, p FROM slots s WHERE s.account_id = id AND s.pos > pos_ - span ORDER BY s.pos, s.account_nth LIMIT 1;
  ELSE SELECT s.nth, s.pos INTO n, p FROM slots s WHERE s.key_id = id AND s.pos > pos_ - span ORDER BY s.pos, s.nth LIMIT 1; END IF;
  used := taken - coalesce(n - 1, written);
  oldest := CASE WHEN used = 0 THEN 0 ELSE coalesce(p, first_pos) + span - pos_ END;
END $$;

-- What these requests weigh in a window of tokens, in their order: what has ended as it used, what is in progress as it holds, below zero.
CREATE OR REPLACE FUNCTION weigh(gens text[]) RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
DECLARE weights bigint[]; lowest text; highest text;
BEGIN
  -- So that only their days of the log are opened; in a join all lines in between would be read.
  SELECT min(g COLLATE "C"), max(g COLLATE "C") INTO lowest, highest FROM unnest(gens) g;
  SELECT array_agg(coalesce(
      (SELECT -h.tokens FROM holds h WHERE h.generation_id = u.gen AND h.ended_at IS NULL),
      (SELECT a.input_tokens + a.cache_read_tokens + a.cache_write_tokens + a.cache_write_1h_tokens + a.image_input_tokens + a.output_tokens + a.image_output_tokens
        FROM activity a WHERE a.generation_id = u.gen AND a.generation_id BETWEEN lowest AND highest), 0) ORDER BY u.o) INTO weights
    FROM unnest(gens) WITH ORDINALITY AS u(gen, o);
  RETURN weights;
END $$;

-- The tokens of the slots, of the key or the account of this id, whose places are behind `first` and not behind `last`.
CREATE OR REPLACE FUNCTION tokens_between(of_account boolean, id text, first bigint, last bigint, OUT spent bigint, OUT held bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE gens text[];
BEGIN
  IF of_account THEN SELECT array_agg(s.generation_id) INTO gens FROM slots s WHERE s.account_id = id AND s.pos > first AND s.pos <= last;
  ELSE SELECT array_agg(s.generation_id) INTO gens FROM slots s WHERE s.key_id = id AND s.pos > first AND s.pos <= last; END IF;
  spent := 0; held := 0;
  IF gens IS NOT NULL THEN
    SELECT coalesce(sum(w) FILTER (WHERE w > 0), 0), coalesce(-sum(w) FILTER (WHERE w < 0), 0) INTO spent, held FROM unnest(weigh(gens)) w;
  END IF;
END $$;

-- The tokens of the slots behind `since`. The sums that are kept are those of the slots behind `kept_from`, and move on to `since`: each slot is
-- read once more, when it leaves. Where none are kept, all are read; and where they are of another minute: what left since then may be
-- gone, or too much to read.
CREATE OR REPLACE FUNCTION tokens_since(of_account boolean, id text, since bigint, INOUT kept_from bigint, INOUT kept_spent bigint, INOUT kept_held bigint,
  OUT spent bigint, OUT held bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE b record;
BEGIN
  IF kept_from IS NULL OR kept_from < since - 60000 THEN
    b := tokens_between(of_account, id, since, 9223372036854775807);
    kept_from := since; kept_spent := b.spent; kept_held := b.held;
  ELSIF kept_from < since THEN
    b := tokens_between(of_account, id, kept_from, since);
    kept_from := since; kept_spent := kept_spent - b.spent; kept_held := kept_held - b.held;
  END IF;
  spent := kept_spent; held := kept_held;
  IF since < kept_from THEN
    b := tokens_between(of_account, id, since, kept_from);
    spent := spent + b.spent; held := held + b.held;
  END IF;
END $$;

-- How long until what has been used is below the limit. The oldest leave first; no more are read than have to.
CREATE OR REPLACE FUNCTION token_wait(of_account boolean, id text, since bigint, pos_ bigint, spent bigint, lim bigint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE p bigint := since; n bigint := 9223372036854775807; gens text[]; places bigint[]; nths bigint[]; weights bigint[];
BEGIN
  LOOP
    IF of_account THEN
      SELECT array_agg(f.generation_id), array_agg(f.pos), array_agg(f.account_nth) INTO gens, places, nths FROM (
        SELECT s.generation_id, s.pos, s.account_nth FROM slots s WHERE s.account_id = id AND (s.pos, s.account_nth) > (p, n) ORDER BY s.pos, s.account_nth LIMIT 20) f;
    ELSE
      SELECT array_agg(f.generation_id), array_agg(f.pos), array_agg(f.nth) INTO gens, places, nths FROM (
        SELECT s.generation_id, s.pos, s.nth FROM slots s WHERE s.key_id = id AND (s.pos, s.nth) > (p, n) ORDER BY s.pos, s.nth LIMIT 20) f;
    END IF;
    IF gens IS NULL THEN RETURN 60000; END IF;
    weights := weigh(gens);
    FOR k IN 1 .. cardinality(gens) LOOP
      spent := spent - greatest(0, weights[k]);
      p := places[k]; n := nths[k];
      IF spent < lim THEN RETURN p + 60000 - pos_; END IF;
    END LOOP;
  END LOOP;
END $$;

-- The tokens of a minute while the clock is, or was, set: as `stepped_window`. `wait` is 0 below the limit, and without one.
CREATE OR REPLACE FUNCTION stepped_tokens(id text, at_ bigint, pos_ bigint, lim bigint,
  OUT spent bigint, OUT held bigint, OUT oldest bigint, OUT wait bigint) LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
DECLARE gens text[]; leaves bigint[]; weights bigint[]; rest bigint;
BEGIN
  SELECT array_agg(f.generation_id ORDER BY f.ms), array_agg(f.ms ORDER BY f.ms) INTO gens, leaves FROM (
    SELECT s.generation_id, greatest(CASE WHEN s.at > at_ - 60000 AND s.at < at_ + 60000 THEN least(s.at, at_) + 60000 - at_ ELSE 0 END,
                                     s.pos + 60000 - pos_) AS ms
    FROM slots s WHERE (s.account_id = id AND s.pos > at_ - 60000) OR (s.key_id = id AND s.pos > at_ - 60000)) f WHERE f.ms > 0;
  weights := weigh(gens);
  SELECT coalesce(sum(w) FILTER (WHERE w > 0), 0), coalesce(-sum(w) FILTER (WHERE w < 0), 0) INTO spent, held FROM unnest(weights) w;
  oldest := coalesce(leaves[1], 0);
  wait := 0; rest := spent;
  FOR k IN 1 .. CASE WHEN lim IS NULL THEN 0 ELSE coalesce(cardinality(leaves), 0) END LOOP
    EXIT WHEN rest < lim;
    rest := rest - greatest(0, weights[k]); wait := leaves[k];
  END LOOP;
END $$;

-- The tokens of a minute as a claim finds them; whether those that it wants fit: beside none in progress all do, while the limit is not
-- reached; and how long until what has been used is below the limit. The sums move on.
CREATE OR REPLACE FUNCTION judge_tokens(of_account boolean, id text, at_ bigint, pos_ bigint, stepped boolean, INOUT kept_from bigint, INOUT kept_spent bigint,
  INOUT kept_held bigint, lim bigint, wanted bigint, OUT spent bigint, OUT held bigint, OUT fits boolean, OUT wait bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE t record;
BEGIN
  IF stepped THEN SELECT s.spent, s.held, s.wait INTO spent, held, wait FROM stepped_tokens(id, at_, pos_, lim) s;
  ELSE
    t := tokens_since(of_account, id, pos_ - 60000, kept_from, kept_spent, kept_held);
    kept_from := t.kept_from; kept_spent := t.kept_spent; kept_held := t.kept_held; spent := t.spent; held := t.held;
    wait := CASE WHEN spent < lim THEN 0 ELSE token_wait(of_account, id, pos_ - 60000, pos_, spent, lim) END;
  END IF;
  fits := spent < lim AND (held = 0 OR spent + held + wanted <= lim);
END $$;

-- The tokens of a minute as a list shows them, and until when the oldest of its requests is in it.
CREATE OR REPLACE FUNCTION show_tokens(of_account boolean, id text, at_ bigint, pos_ bigint, stepped boolean, kept_from bigint, kept_spent bigint, kept_held bigint,
  OUT used bigint, OUT oldest bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE t record;
BEGIN
  IF stepped THEN SELECT s.spent + s.held, s.oldest INTO used, oldest FROM stepped_tokens(id, at_, pos_, NULL) s; RETURN; END IF;
  t := tokens_since(of_account, id, pos_ - 60000, kept_from, kept_spent, kept_held);
  used := t.spent + t.held;
  IF of_account THEN SELECT min(s.pos) INTO oldest FROM slots s WHERE s.account_id = id AND s.pos > pos_ - 60000;
  ELSE SELECT min(s.pos) INTO oldest FROM slots s WHERE s.key_id = id AND s.pos > pos_ - 60000; END IF;
  oldest := coalesce(oldest + 60000 - pos_, 0);
END $$;

CREATE OR REPLACE FUNCTION write_admitted(written admitted[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WITH w AS MATERIALIZED (SELECT * FROM unnest(written)),
  taken AS (
    INSERT INTO slots (generation_id, key_id, account_id, at, pos, nth, account_nth, end_user, counted_as)
    SELECT w.generation_id, w.key_id, w.account_id, w.at, w.pos, w.nth, w.account_nth, w.end_user, w.counted_as FROM w)
  INSERT INTO holds (generation_id, request_id, account_id, key_id, model, amount_nanos, admitted_at, end_user, counted_as, day, node, epoch,
    idempotency_key, body_sha256, surface, session, tokens, pos)
  SELECT w.generation_id, w.request_id, w.account_id, w.key_id, w.model, w.amount_nanos, w.at, w.end_user, w.counted_as, w.day, w.node, w.epoch,
    w.idempotency_key, w.body_sha256, w.surface, w.session, w.tokens, w.pos FROM w;
END $$;

-- What an account was charged on some days: what its keys have spent on them, and what is beside that.
CREATE OR REPLACE FUNCTION spent_by(acc text, first bigint, before bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT (coalesce((SELECT sum(d.spent_nanos) FROM keys k JOIN key_days d ON d.key_id = k.id WHERE k.account_id = acc AND d.day >= first AND d.day < before), 0)
    + coalesce((SELECT sum(m.spent_nanos) FROM moved_days m WHERE m.account_id = acc AND m.day >= first AND m.day < before), 0))::bigint $$;

-- A verdict for each claim of a batch, in their order. With `takes`, what is admitted takes its slots and its hold. Money in
-- nano-dollars. `o_…` are the offers of all claims in one row, of which a claim has `p_offers` from `p_first` on. `now_` is the node's clock as
-- it sends the batch: a claim that has waited for seconds lies there on the time line, for no clock was set back. `own` is the epoch of the node,
-- whose processes have others: where either was ended nothing is admitted.
-- Each expression is made ready anew in each transaction: a call for few claims costs what it has expressions.
CREATE OR REPLACE FUNCTION admit(takes boolean, now_ bigint, own text, p_gen text[], p_req text[], p_node text[], p_epoch text[], p_key text[],
  p_at bigint[], p_catalogue bigint[], p_model text[], p_user text[], p_surface text[], p_session text[], p_repeat text[], p_digest text[],
  p_first bigint[], p_offers bigint[], o_prompt bigint[], o_base bigint[], o_per bigint[], o_choices bigint[], o_full bigint[],
  o_floor bigint[], o_out bigint[])
RETURNS SETOF verdict
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE
  accs text[];
  c record;
  v verdict; nothing verdict;
  win record; kept record;
  -- The states of the account and of the key, as the claim finds and leaves them, and of those before.
  account account_state; done_accounts account_state[]; key key_state; done_keys key_state[];
  a_written bigint; k_written bigint; -- the numbers of their last slots in the table
  a_first int; k_first bigint; -- of what is to be written, the first of the account, and the place of that of the key
  -- of the end user
  u_name text; u_known boolean; u_spent bigint; u_held bigint; u_prog bigint;
  -- of the claim
  today bigint; seen bigint; pos bigint; back bigint; steps bigint[]; stepped boolean; base bigint; out_ bigint; room bigint; ample boolean; j int; b bigint;
  most numeric; tokens bigint; most_tokens bigint; minute bigint; m_wait bigint; d_wait bigint; wait bigint; part bigint; kind int;
  -- the limits of money that apply: 1 key's day, 2 its month, 3 its end user's day, 4 and 5 those of the account, 6 the balance
  l_kind int[]; l_ceiling bigint[]; l_spent bigint[]; l_held bigint[]; l_requests bigint[];
  w admitted[] := '{}'; -- what is to be written
BEGIN
  IF takes THEN
    -- Held by every admission, so that whoever ends an epoch knows of all that it has.
    PERFORM pg_advisory_xact_lock_shared(7001);
    LOOP
      accs := ARRAY(SELECT s.account_id FROM account_state s WHERE s.account_id IN (SELECT k.account_id FROM keys k WHERE k.id = ANY (p_key))
        ORDER BY s.account_id FOR NO KEY UPDATE);
      -- One may have been moved while its lock was waited for.
      EXIT WHEN NOT EXISTS (SELECT FROM keys k WHERE k.id = ANY (p_key) AND k.account_id <> ALL (accs));
    END LOOP;
  END IF;
  FOR c IN
    SELECT u.*, k.account_id AS acc, k.rpm AS k_rpm, k.rpd AS k_rpd, k.tpm AS k_tpm, k.concurrency AS k_conc, k.daily AS k_daily, k.monthly AS k_monthly,
      k.user_rpm, k.user_daily, k.expires_at, k.disabled_at, k.revoked_at,
      a.rpm AS a_rpm, a.rpd AS a_rpd, a.tpm AS a_tpm, a.concurrency AS a_conc, a.daily AS a_daily, a.monthly AS a_monthly,
      s AS of_account, t AS of_key, s.day AS s_day, (SELECT cv.version FROM catalogue_version cv) AS version,
      EXISTS (SELECT FROM ended_epochs e WHERE e.epoch IN (u.epoch, own)) AS ended, g.generation_id AS given_up
    FROM unnest(p_gen, p_req, p_node, p_epoch, p_key, p_at, p_catalogue, p_model, p_user, p_surface, p_session, p_repeat, p_digest, p_first, p_offers)
      WITH ORDINALITY AS u(gen, req, node, epoch, key, at, catalogue, model, usr, surface, session, repeat, digest, first, offers, o)
    LEFT JOIN keys k ON k.id = u.key
    LEFT JOIN accounts a ON a.id = k.account_id
    LEFT JOIN account_state s ON s.account_id = k.account_id
    LEFT JOIN key_state t ON t.key_id = u.key
    LEFT JOIN given_up g ON g.generation_id = u.gen
    ORDER BY k.account_id, u.key, u.o
  LOOP
    v := nothing; v.i := c.o;
    IF c.catalogue IS NOT NULL AND c.catalogue IS DISTINCT FROM c.version THEN v.code := 'stale'; RETURN NEXT v; CONTINUE; END IF;
    IF c.acc IS NULL THEN v.code := 'key_not_found'; RETURN NEXT v; CONTINUE; END IF;
    IF c.given_up IS NOT NULL THEN v.code := 'given_up'; RETURN NEXT v; CONTINUE; END IF;

    -- What was collected is written before anything reads the tables of holds and slots, and at the end.
    IF cardinality(w) > 0 AND (c.repeat IS NOT NULL OR c.usr IS NOT NULL OR c.s_day <> c.at / 86400000) THEN
      PERFORM write_admitted(w); w := '{}'; k_written := key.taken; a_written := account.taken; a_first := NULL;
    END IF;
    IF account.account_id IS DISTINCT FROM c.acc THEN
      IF account.account_id IS NOT NULL THEN done_accounts := done_accounts || account; END IF;
      account := c.of_account; a_written := account.taken; a_first := NULL;
      IF c.a_tpm IS NULL THEN account.tokens_from := NULL; END IF;
    END IF;
    IF key.key_id IS DISTINCT FROM c.key THEN
      IF key.key_id IS NOT NULL THEN done_keys := done_keys || key; END IF;
      key := c.of_key; k_written := key.taken; k_first := NULL;
      IF c.k_tpm IS NULL THEN key.tokens_from := NULL; END IF;
    END IF;

    -- Repeated before any limit is judged.
    IF takes AND c.repeat IS NOT NULL THEN
      SELECT CASE WHEN h.body_sha256 = c.digest THEN 'running' ELSE 'other_body' END INTO v.code
        FROM holds h WHERE h.key_id = c.key AND h.idempotency_key = c.repeat;
      IF v.code IS NULL THEN
        SELECT CASE WHEN o.body_sha256 = c.digest THEN 'kept' ELSE 'other_body' END, o.id INTO v.code, v.answer FROM answers o
          WHERE o.key_id = c.key AND o.idempotency_key = c.repeat AND o.whole AND o.created_at > c.at - 86400000
            AND EXISTS (SELECT FROM answer_pieces p WHERE p.answer_id = o.id AND p.place = 0);
      END IF;
      IF v.code IS NOT NULL THEN RETURN NEXT v; CONTINUE; END IF;
    END IF;
    IF c.ended THEN v.code := 'fenced'; RETURN NEXT v; CONTINUE; END IF;

    -- The day of the account, and of its keys, with its sums.
    today := day_at(c.at, account.day);
    IF today <> account.day OR NOT account.summed THEN
      IF c.a_daily IS NULL AND c.a_monthly IS NULL THEN account.summed := account.summed AND today = account.day;
      ELSE
        IF NOT (account.summed AND today = account.day + 1 AND month_of(today) = month_of(account.day)) THEN
          account.spent_month := spent_by(c.acc, month_of(today), next_month(today));
        END IF;
        account.spent_day := spent_by(c.acc, today, today + 1);
        SELECT coalesce(sum(h.amount_nanos) FILTER (WHERE h.day = today), 0),
            coalesce(sum(h.amount_nanos) FILTER (WHERE h.day >= month_of(today) AND h.day < next_month(today)), 0)
          INTO account.held_day, account.held_month FROM holds h WHERE h.account_id = c.acc;
        account.summed := true;
      END IF;
      account.day := today;
    END IF;
    IF key.day <> today THEN
      SELECT coalesce(sum(d.spent_nanos) FILTER (WHERE d.day = today), 0), coalesce(sum(d.spent_nanos), 0) INTO key.spent_day, key.spent_month
        FROM key_days d WHERE d.key_id = c.key AND d.day >= month_of(today) AND d.day < next_month(today);
      SELECT coalesce(sum(h.amount_nanos) FILTER (WHERE h.day = today), 0),
          coalesce(sum(h.amount_nanos) FILTER (WHERE h.day >= month_of(today) AND h.day < next_month(today)), 0)
        INTO key.held_day, key.held_month FROM holds h WHERE h.key_id = c.key;
      SELECT count(*) INTO key.users FROM end_user_days d WHERE d.key_id = c.key AND d.day = today AND d.end_user <> '';
      key.day := today;
    END IF;

    u_name := NULL; u_known := true;
    IF c.usr IS NOT NULL THEN
      u_name := c.usr;
      SELECT d.spent_nanos INTO u_spent FROM end_user_days d WHERE d.key_id = c.key AND d.day = today AND d.end_user = u_name;
      u_known := FOUND;
      IF NOT u_known AND key.users >= 10000 THEN
        u_name := '';
        SELECT d.spent_nanos INTO u_spent FROM end_user_days d WHERE d.key_id = c.key AND d.day = today AND d.end_user = '';
        u_known := FOUND;
      END IF;
      u_spent := coalesce(u_spent, 0); u_held := 0; u_prog := 0;
      IF c.user_daily IS NOT NULL THEN
        SELECT coalesce(sum(h.amount_nanos), 0), count(*) FILTER (WHERE h.ended_at IS NULL) INTO u_held, u_prog FROM holds h
          WHERE h.key_id = c.key AND h.counted_as = u_name AND h.day = today;
      END IF;
    END IF;

    -- The place on the time line, and whether the clock was set lately.
    seen := CASE WHEN now_ - c.at BETWEEN 2000 AND 15000 THEN now_ ELSE c.at END;
    pos := seen + account.set_back; back := account.set_back;
    -- As `place_of` says of a clock that was never set, which costs a tenth of the admission to ask.
    IF pos < account.pos - 5000 OR cardinality(account.steps) > 0 THEN
      SELECT * INTO pos, back, steps FROM place_of(seen, account.pos, account.set_back, account.steps);
      account.steps := steps; account.set_back := back;
    END IF;
    IF seen < account.newest_at - 5000 THEN account.stepped_to := greatest(pos, account.pos) + 86400000; account.newest_at := seen; END IF;
    stepped := pos < account.stepped_to;

    -- The windows of the key. Those of tokens read what was collected where they begin or end in it, or may be full.
    v.rpm := c.k_rpm; v.rpd := c.k_rpd; v.minute_oldest := 0; v.day_oldest := 0; minute := pos - 60000;
    IF a_first IS NOT NULL AND coalesce(c.k_rpm, c.k_rpd, c.k_tpm, c.a_rpm, c.a_rpd, c.a_tpm) IS NOT NULL THEN
      most_tokens := 0;
      FOR j IN c.first .. c.first + c.offers - 1 LOOP most_tokens := greatest(most_tokens, o_prompt[j] + o_choices[j] * o_full[j]); END LOOP;
      IF stepped
          OR c.k_tpm IS NOT NULL AND (key.tokens_from IS NULL OR minute < key.tokens_from OR minute >= w[a_first].pos
            OR key.tokens_spent + key.tokens_held + most_tokens >= c.k_tpm)
          OR c.a_tpm IS NOT NULL AND (account.tokens_from IS NULL OR minute < account.tokens_from OR minute >= w[a_first].pos
            OR account.tokens_spent + account.tokens_held + most_tokens >= c.a_tpm) THEN
        PERFORM write_admitted(w); w := '{}'; k_written := key.taken; a_written := account.taken; a_first := NULL;
      END IF;
    END IF;
    IF c.k_rpm IS NOT NULL THEN
      win := count_window(false, c.key, 60000, c.at, pos, stepped, key.taken, k_written, k_first, c.k_rpm);
      v.minute_used := win.used; v.minute_oldest := win.oldest; m_wait := win.wait;
    END IF;
    IF c.k_rpd IS NOT NULL THEN
      win := count_window(false, c.key, 86400000, c.at, pos, stepped, key.taken, k_written, k_first, c.k_rpd);
      v.day_used := win.used; v.day_oldest := win.oldest; d_wait := win.wait;
    END IF;

    -- What it is granted: where all money is ample, all that it wants; else the least share of what any limit has left.
    base := 0; out_ := 0;
    FOR j IN c.first .. c.first + c.offers - 1 LOOP
      base := greatest(base, o_base[j]); out_ := greatest(out_, o_out[j]);
    END LOOP;
    room := base + 32 * out_;
    ample := account.balance_nanos - account.held_nanos > room
      AND (c.k_daily IS NULL OR c.k_daily - key.spent_day - key.held_day > room)
      AND (c.k_monthly IS NULL OR c.k_monthly - key.spent_month - key.held_month > room)
      AND (u_name IS NULL OR c.user_daily IS NULL OR c.user_daily - u_spent - u_held > room)
      AND (c.a_daily IS NULL OR c.a_daily - account.spent_day - account.held_day > room)
      AND (c.a_monthly IS NULL OR c.a_monthly - account.spent_month - account.held_month > room);
    IF NOT ample THEN
      SELECT array_agg(l.kind ORDER BY l.kind), array_agg(l.ceiling ORDER BY l.kind), array_agg(l.spent ORDER BY l.kind), array_agg(l.held ORDER BY l.kind),
          array_agg(l.requests ORDER BY l.kind) INTO l_kind, l_ceiling, l_spent, l_held, l_requests
        FROM (VALUES (1, c.k_daily, key.spent_day, key.held_day, key.in_progress), (2, c.k_monthly, key.spent_month, key.held_month, key.in_progress),
          (3, CASE WHEN u_name IS NOT NULL THEN c.user_daily END, u_spent, u_held, u_prog),
          (4, c.a_daily, account.spent_day, account.held_day, account.in_progress), (5, c.a_monthly, account.spent_month, account.held_month, account.in_progress),
          (6, account.balance_nanos, 0, account.held_nanos, account.in_progress)) AS l(kind, ceiling, spent, held, requests)
        WHERE l.ceiling IS NOT NULL;
      FOR j IN 1 .. cardinality(l_kind) LOOP
        IF l_held[j] = 0 AND l_kind[j] < 4 THEN CONTINUE; END IF;
        part := greatest(0, l_ceiling[j] - l_spent[j] - l_held[j] - base) / CASE WHEN l_held[j] = 0 THEN 2 ELSE 32 END;
        v.money := least(v.money, part);
      END LOOP;
    END IF;
    v.hold := 0; tokens := 0;
    FOR j IN c.first .. c.first + c.offers - 1 LOOP
      IF v.money IS NULL OR o_floor[j] >= o_full[j] OR o_out[j] <= v.money THEN
        b := o_full[j]; most := o_base[j] + o_out[j];
      ELSE
        b := greatest(o_floor[j], div(v.money::numeric * 1000000, o_choices[j]::numeric * o_per[j]));
        most := o_base[j] + CASE WHEN b = o_full[j] THEN o_out[j] ELSE div(o_choices[j]::numeric * b * o_per[j] + 999999, 1000000) END;
      END IF;
      v.hold := greatest(v.hold, least(most, 9007199254740991)); tokens := greatest(tokens, o_prompt[j] + o_choices[j] * b);
    END LOOP;

    -- The first rule that refuses.
    kind := NULL;
    IF NOT ample THEN
      FOR j IN 1 .. cardinality(l_kind) LOOP
        IF l_spent[j] >= l_ceiling[j] THEN
          kind := l_kind[j]; v.limit_value := l_ceiling[j]; v.used := l_spent[j];
          v.code := CASE WHEN kind IN (2, 5) THEN 'monthly_spend_limit_exceeded' WHEN kind = 6 THEN 'insufficient_balance' ELSE 'daily_spend_limit_exceeded' END;
          v.resets_at := CASE WHEN kind IN (2, 5) THEN next_month(today) * 86400000 WHEN kind = 6 THEN NULL ELSE (today + 1) * 86400000 END;
          EXIT;
        END IF;
      END LOOP;
    END IF;
    IF v.code IS NULL THEN
      IF v.minute_used >= c.k_rpm THEN
        v.lim := 'rpm_limit'; v.limit_value := c.k_rpm; v.used := v.minute_used; wait := m_wait;
      ELSIF v.day_used >= c.k_rpd THEN
        v.lim := 'rpd_limit'; v.limit_value := c.k_rpd; v.used := v.day_used; wait := d_wait;
      END IF;
      IF v.lim IS NULL AND c.k_tpm IS NOT NULL THEN
        kept := judge_tokens(false, c.key, c.at, pos, stepped, key.tokens_from, key.tokens_spent, key.tokens_held, c.k_tpm, tokens);
        key.tokens_from := kept.kept_from; key.tokens_spent := kept.kept_spent; key.tokens_held := kept.kept_held;
        IF NOT kept.fits THEN v.lim := 'tpm_limit'; v.limit_value := c.k_tpm; v.used := kept.spent + kept.held; v.held := kept.held; wait := kept.wait; END IF;
      END IF;
      IF v.lim IS NULL AND u_name IS NOT NULL AND c.user_rpm IS NOT NULL THEN
        SELECT count(*) AS used, (array_agg(ms ORDER BY ms DESC))[c.user_rpm] AS wait INTO win FROM (
          SELECT greatest(CASE WHEN stepped AND s.at > c.at - 60000 AND s.at < c.at + 60000 THEN least(s.at, c.at) + 60000 - c.at ELSE 0 END,
              s.pos + 60000 - pos) AS ms
          FROM slots s WHERE s.key_id = c.key AND s.end_user IS NOT NULL AND (s.end_user = u_name OR (u_name = '' AND s.counted_as = '' AND s.at / 86400000 = today))
            AND s.pos > CASE WHEN stepped THEN c.at ELSE pos END - 60000) found WHERE ms > 0;
        IF win.used >= c.user_rpm THEN v.lim := 'end_user_rpm'; v.limit_value := c.user_rpm; v.used := win.used; wait := win.wait; END IF;
      END IF;
      IF v.lim IS NULL AND c.a_rpm IS NOT NULL THEN
        win := count_window(true, c.acc, 60000, c.at, pos, stepped, account.taken, a_written, NULL, c.a_rpm);
        IF win.used >= c.a_rpm THEN v.lim := 'rpm_limit'; v.of_account := true; v.limit_value := c.a_rpm; v.used := win.used; wait := win.wait; END IF;
      END IF;
      IF v.lim IS NULL AND c.a_rpd IS NOT NULL THEN
        win := count_window(true, c.acc, 86400000, c.at, pos, stepped, account.taken, a_written, NULL, c.a_rpd);
        IF win.used >= c.a_rpd THEN v.lim := 'rpd_limit'; v.of_account := true; v.limit_value := c.a_rpd; v.used := win.used; wait := win.wait; END IF;
      END IF;
      IF v.lim IS NULL AND c.a_tpm IS NOT NULL THEN
        kept := judge_tokens(true, c.acc, c.at, pos, stepped, account.tokens_from, account.tokens_spent, account.tokens_held, c.a_tpm, tokens);
        account.tokens_from := kept.kept_from; account.tokens_spent := kept.kept_spent; account.tokens_held := kept.kept_held;
        IF NOT kept.fits THEN
          v.lim := 'tpm_limit'; v.of_account := true; v.limit_value := c.a_tpm; v.used := kept.spent + kept.held; v.held := kept.held; wait := kept.wait;
        END IF;
      END IF;
      IF v.lim IS NOT NULL THEN
        IF v.lim IN ('rpm_limit', 'rpd_limit') AND NOT stepped THEN
          -- It may be one that was collected.
          IF a_first IS NOT NULL THEN PERFORM write_admitted(w); w := '{}'; k_written := key.taken; a_written := account.taken; a_first := NULL; END IF;
          b := CASE v.lim WHEN 'rpd_limit' THEN 86400000 ELSE 60000 END;
          wait := CASE WHEN v.of_account THEN slot_wait(true, c.acc, b, pos, account.taken, v.limit_value) ELSE slot_wait(false, c.key, b, pos, key.taken, v.limit_value) END;
        END IF;
        v.code := 'rate_limit_exceeded'; v.resets_at := seen + nullif(wait, 0);
        v.retry := greatest(1, (least(wait, CASE v.lim WHEN 'rpd_limit' THEN 86400000 ELSE 60000 END) + 999) / 1000);
      ELSIF key.in_progress >= c.k_conc THEN
        v.code := 'concurrency_limit_exceeded'; v.lim := 'concurrency_limit'; v.limit_value := c.k_conc; v.used := key.in_progress; v.retry := 1;
      ELSIF account.in_progress >= c.a_conc THEN
        v.code := 'concurrency_limit_exceeded'; v.lim := 'concurrency_limit'; v.of_account := true; v.limit_value := c.a_conc; v.used := account.in_progress; v.retry := 1;
      ELSIF NOT ample THEN
        FOR j IN 1 .. cardinality(l_kind) LOOP
          IF l_held[j] > 0 AND l_spent[j] + l_held[j] + v.hold > l_ceiling[j] THEN
            kind := l_kind[j]; v.code := 'spend_reserved'; v.limit_value := l_ceiling[j]; v.used := l_spent[j] + l_held[j]; v.retry := 1;
            v.held := l_held[j]; v.requests := l_requests[j];
            EXIT;
          END IF;
        END LOOP;
      END IF;
    END IF;
    IF kind IS NOT NULL THEN
      v.lim := (ARRAY['daily_spend_limit_usd', 'monthly_spend_limit_usd', 'end_user_daily_usd', 'daily_spend_limit_usd', 'monthly_spend_limit_usd', 'balance_usd'])[kind];
      v.of_account := kind IN (4, 5);
    END IF;
    -- The key may have been revoked between its look-up and this claim.
    IF c.revoked_at IS NOT NULL OR c.expires_at <= c.at OR c.disabled_at IS NOT NULL THEN
      v.code := 'key_revoked'; v.of_account := NULL; v.limit_value := NULL; v.used := NULL; v.resets_at := NULL; v.retry := NULL; v.held := NULL; v.requests := NULL;
      v.lim := CASE WHEN c.revoked_at IS NOT NULL THEN 'revoked' WHEN c.expires_at <= c.at THEN 'expired' ELSE 'disabled' END;
    END IF;

    IF v.code IS NULL AND takes THEN
      account.pos := greatest(account.pos, pos); account.newest_at := greatest(account.newest_at, seen); account.taken := account.taken + 1;
      account.in_progress := account.in_progress + 1; account.held_nanos := account.held_nanos + v.hold;
      account.held_day := account.held_day + v.hold; account.held_month := account.held_month + v.hold;
      key.taken := key.taken + 1; key.in_progress := key.in_progress + 1; key.held_nanos := key.held_nanos + v.hold;
      key.held_day := key.held_day + v.hold; key.held_month := key.held_month + v.hold; key.last_used_at := c.at;
      IF key.taken = k_written + 1 THEN k_first := account.pos; END IF;
      IF c.k_rpm IS NOT NULL THEN v.minute_used := v.minute_used + 1; IF v.minute_used = 1 THEN v.minute_oldest := 60000 + account.pos - pos; END IF; END IF;
      IF c.k_rpd IS NOT NULL THEN v.day_used := v.day_used + 1; IF v.day_used = 1 THEN v.day_oldest := 86400000 + account.pos - pos; END IF; END IF;
      IF NOT u_known THEN
        INSERT INTO end_user_days (key_id, day, end_user, spent_nanos, requests) VALUES (c.key, today, u_name, 0, 0) ON CONFLICT DO NOTHING;
        IF u_name <> '' THEN key.users := key.users + 1; END IF;
      END IF;
      tokens := greatest(1, tokens);
      IF account.pos > key.tokens_from THEN key.tokens_held := key.tokens_held + tokens; END IF;
      IF account.pos > account.tokens_from THEN account.tokens_held := account.tokens_held + tokens; END IF;
      w := w || ROW(c.gen, c.req, c.node, c.epoch, c.key, c.acc, c.at, c.model, c.usr, u_name, c.surface, c.session, c.repeat, c.digest,
        account.pos, key.taken, account.taken, v.hold, today, tokens)::admitted;
      a_first := coalesce(a_first, cardinality(w));
    END IF;
    RETURN NEXT v;
  END LOOP;

  IF NOT takes THEN RETURN; END IF;
  IF cardinality(w) > 0 THEN PERFORM write_admitted(w); END IF;
  UPDATE account_state s SET held_nanos = n.held_nanos, in_progress = n.in_progress, pos = n.pos, set_back = n.set_back, steps = n.steps, newest_at = n.newest_at,
      stepped_to = n.stepped_to, taken = n.taken, day = n.day, summed = n.summed, spent_day = n.spent_day, held_day = n.held_day, spent_month = n.spent_month,
      held_month = n.held_month, tokens_from = n.tokens_from, tokens_spent = n.tokens_spent, tokens_held = n.tokens_held, tokens_nth = s.tokens_nth + 1,
      mark_day = CASE WHEN (n.day, n.summed) = (s.day, s.summed) THEN s.mark_day ELSE 0 END,
      mark_month = CASE WHEN (n.day, n.summed) = (s.day, s.summed) THEN s.mark_month ELSE 0 END
    FROM unnest(done_accounts || account) n
    WHERE s.account_id = n.account_id AND ((n.taken, n.day, n.summed, n.set_back, n.steps, n.stepped_to) <> (s.taken, s.day, s.summed, s.set_back, s.steps, s.stepped_to)
      OR coalesce(n.tokens_from > s.tokens_from + 1000, n.tokens_from IS NOT NULL));
  UPDATE key_state t SET held_nanos = n.held_nanos, in_progress = n.in_progress, taken = n.taken, day = n.day, spent_day = n.spent_day, held_day = n.held_day,
      spent_month = n.spent_month, held_month = n.held_month, users = n.users, last_used_at = n.last_used_at,
      tokens_from = n.tokens_from, tokens_spent = n.tokens_spent, tokens_held = n.tokens_held, tokens_nth = t.tokens_nth + 1,
      mark_day = CASE WHEN n.day = t.day THEN t.mark_day ELSE 0 END, mark_month = CASE WHEN n.day = t.day THEN t.mark_month ELSE 0 END
    FROM unnest(done_keys || key) n
    -- What only read moves the sums of tokens on by a second at a time.
    WHERE t.key_id = n.key_id AND ((n.taken, n.day) <> (t.taken, t.day) OR coalesce(n.tokens_from > t.tokens_from + 1000, n.tokens_from IS NOT NULL));
END $$;

-- The share of a ceiling that is passed, and from what is spent on the next one is; without a ceiling, and behind the last, never.
CREATE OR REPLACE FUNCTION passed_mark(spent bigint, ceiling bigint, percents bigint[], OUT percent bigint, OUT next bigint)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE p bigint;
BEGIN
  next := 9223372036854775807;
  IF ceiling IS NULL THEN RETURN; END IF;
  FOREACH p IN ARRAY percents LOOP
    IF spent < div(ceiling::numeric * p + 99, 100) THEN next := div(ceiling::numeric * p + 99, 100); RETURN; END IF;
    percent := p;
  END LOOP;
END $$;

-- Locks the accounts of these requests, those that pay and those that their keys are in by now, in one order for all; answers which, and
-- whether one of the requests was ended. A key is looked up and not joined: a join reads all keys while the planner knows nothing of their number.
CREATE OR REPLACE FUNCTION lock_accounts_of(p_gen text[], OUT accs text[], OUT has_ended boolean)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE has_all boolean; lost text;
BEGIN
  LOOP
    accs := ARRAY(SELECT s.account_id FROM account_state s WHERE s.account_id IN (
        SELECT unnest(ARRAY[h.account_id, (SELECT k.account_id FROM keys k WHERE k.id = h.key_id)]) FROM holds h WHERE h.generation_id = ANY (p_gen))
      ORDER BY s.account_id FOR NO KEY UPDATE);
    SELECT coalesce(bool_and(h.account_id = ANY (accs) AND (SELECT k.account_id FROM keys k WHERE k.id = h.key_id) = ANY (accs)), true),
      coalesce(bool_or(h.ended_at IS NOT NULL), false)
      INTO has_all, has_ended FROM holds h WHERE h.generation_id = ANY (p_gen);
    EXIT WHEN has_all;
    -- A key was moved meanwhile. A state that is gone would be waited for without end.
    SELECT a INTO lost FROM holds h, unnest(ARRAY[h.account_id, (SELECT k.account_id FROM keys k WHERE k.id = h.key_id)]) a
      WHERE h.generation_id = ANY (p_gen) AND NOT EXISTS (SELECT FROM account_state s WHERE s.account_id = a) LIMIT 1;
    IF lost IS NOT NULL THEN RAISE data_exception USING MESSAGE = format('account %s has no row in account_state', lost); END IF;
  END LOOP;
END $$;

-- What a request whose key is in another account by now adds to the key's day counts where it was admitted, under the locks of both.
CREATE OR REPLACE FUNCTION stay(payer text, now_of text, on_day bigint, spent bigint, counted bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO moved_days AS m (account_id, day, spent_nanos, requests) VALUES (payer, on_day, spent, counted), (now_of, on_day, -spent, -counted)
  ON CONFLICT (account_id, day) DO UPDATE SET spent_nanos = m.spent_nanos + excluded.spent_nanos, requests = m.requests + excluded.requests $$;

-- Of what was paid by these keys, for these end users, from these accounts, at these instants: what has passed a mark is noted, and its words are to be
-- written.
CREATE OR REPLACE FUNCTION note_passed(paid_key text[], paid_user text[], paid_acc text[], paid_at bigint[], at_ bigint, OUT passed boolean)
LANGUAGE plpgsql AS $$
DECLARE c record; m record; percents bigint[];
BEGIN
  passed := false;
  -- Low balances, each judged once a batch, by what is left at its end.
  FOR c IN
    SELECT t.account_id, t.below_nanos, t.notified_at, s.balance_nanos, d.at
    FROM (SELECT u.acc AS account_id, max(u.at) AS at FROM unnest(paid_acc, paid_at) AS u(acc, at) GROUP BY 1) d
    JOIN thresholds t ON t.account_id = d.account_id JOIN account_state s ON s.account_id = d.account_id
    WHERE t.below_nanos IS NOT NULL AND s.balance_nanos < t.below_nanos
  LOOP
    IF c.notified_at IS NULL OR c.at - c.notified_at >= 86400000 OR c.at - c.notified_at < -86400000 THEN
      passed := true;
      UPDATE thresholds SET notified_at = c.at WHERE account_id = c.account_id;
      INSERT INTO passed_marks (kind, fact) VALUES ('low_balance',
        jsonb_build_object('accountId', c.account_id, 'at', c.at, 'balance', c.balance_nanos, 'below', c.below_nanos));
    END IF;
  END LOOP;

  -- Ceilings, of keys, accounts and end users whose mark was passed: nearly always none.
  FOR c IN
    SELECT 0 AS kind, t.key_id, k.account_id, NULL AS end_user, t.day, t.spent_day, t.spent_month, t.mark_day, t.mark_month, k.daily, k.monthly
      FROM key_state t JOIN keys k ON k.id = t.key_id
      WHERE t.key_id = ANY (paid_key)
        AND (t.spent_day >= t.mark_day OR t.spent_month >= t.mark_month)
    UNION ALL
    SELECT 1, NULL, s.account_id, NULL, s.day, s.spent_day, s.spent_month, s.mark_day, s.mark_month, a.daily, a.monthly
      FROM account_state s JOIN accounts a ON a.id = s.account_id
      WHERE s.account_id = ANY (paid_acc) AND s.summed AND (s.spent_day >= s.mark_day OR s.spent_month >= s.mark_month)
    UNION ALL
    SELECT 2, d.key_id, k.account_id, d.end_user, d.day, d.spent_nanos, 0, d.mark, 9223372036854775807, k.user_daily, NULL
      FROM (SELECT DISTINCT u.key, u.usr FROM unnest(paid_key, paid_user) AS u(key, usr) WHERE u.usr IS NOT NULL) u
      JOIN keys k ON k.id = u.key JOIN key_state t ON t.key_id = u.key
      JOIN end_user_days d ON d.key_id = u.key AND d.day = t.day AND d.end_user = u.usr
      WHERE d.spent_nanos >= d.mark
  LOOP
    IF percents IS NULL THEN
      percents := coalesce((SELECT ARRAY(SELECT jsonb_array_elements_text(n.ceiling_percents::jsonb)::bigint) FROM notice_settings n), ARRAY[80, 100]);
    END IF;
    IF c.spent_day >= c.mark_day THEN
      SELECT * INTO m FROM passed_mark(c.spent_day, c.daily, percents);
      IF c.kind = 0 THEN UPDATE key_state SET mark_day = m.next WHERE key_id = c.key_id;
      ELSIF c.kind = 1 THEN UPDATE account_state SET mark_day = m.next WHERE account_id = c.account_id;
      ELSE UPDATE end_user_days SET mark = m.next WHERE key_id = c.key_id AND day = c.day AND end_user = c.end_user; END IF;
      IF m.percent IS NOT NULL THEN
        passed := true;
        INSERT INTO passed_marks (kind, fact) VALUES ((ARRAY['key', 'account', 'end_user'])[c.kind + 1], jsonb_build_object('accountId', c.account_id, 'keyId', c.key_id,
          'endUser', c.end_user, 'limit', CASE WHEN c.kind = 2 THEN 'end_user_daily_usd' ELSE 'daily_spend_limit_usd' END, 'ceiling', c.daily, 'spent', c.spent_day,
          'percent', m.percent, 'ends', c.day + 1, 'at', at_));
      END IF;
    END IF;
    IF c.kind < 2 AND c.spent_month >= c.mark_month THEN
      SELECT * INTO m FROM passed_mark(c.spent_month, c.monthly, percents);
      IF c.kind = 0 THEN UPDATE key_state SET mark_month = m.next WHERE key_id = c.key_id;
      ELSE UPDATE account_state SET mark_month = m.next WHERE account_id = c.account_id; END IF;
      IF m.percent IS NOT NULL THEN
        passed := true;
        INSERT INTO passed_marks (kind, fact) VALUES ((ARRAY['key', 'account'])[c.kind + 1], jsonb_build_object('accountId', c.account_id, 'keyId', c.key_id,
          'limit', 'monthly_spend_limit_usd', 'ceiling', c.monthly, 'spent', c.spent_month, 'percent', m.percent, 'ends', next_month(c.day),
          'at', at_));
      END IF;
    END IF;
  END LOOP;
END $$;

-- Resolves those admissions of a batch that are open, and answers which: hold, ledger, balance, sums, line of the log, kept answer and
-- marks move together. An amount that is null charges nothing. `passed`: a mark was passed, whose words are to be written.
CREATE OR REPLACE FUNCTION settle(p_gen text[], p_at bigint[], p_amount bigint[], p_rate text[], p_version text[], p_answer bigint[],
  l_request_id text[], l_account_id text[], l_key_id text[], l_admitted boolean[], l_model text[], l_provider text[], l_end_user text[], l_stream boolean[],
  l_status bigint[], l_code text[], l_ended_by text[], l_finish_reason text[], l_started_at bigint[], l_admitted_at bigint[], l_first_event_ms bigint[],
  l_total_ms bigint[], l_input bigint[], l_cache_read bigint[], l_cache_write bigint[], l_image_input bigint[], l_output bigint[], l_reasoning bigint[],
  l_image_output bigint[], l_input_images bigint[], l_output_images bigint[], l_search_units bigint[], l_usage_source text[], l_cost bigint[],
  l_cost_rub bigint[], l_failed text[], l_operator_cost bigint[], l_stated bigint[], l_resolution text[], l_quality text[], l_refusal text[], l_hold bigint[],
  l_bound bigint[], l_cache_write_1h bigint[], l_calls text[], l_modifiers text[], l_surface text[], l_session text[], l_cut text[], l_credential text[], l_node text[])
RETURNS TABLE (gen text, passed boolean)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  has_ended boolean; may_pass boolean := false; any_passed boolean := false; c record;
  done_gen text[]; paid_key text[]; paid_user text[]; paid_acc text[]; paid_at bigint[];
BEGIN
  SELECT l.has_ended INTO has_ended FROM lock_accounts_of(p_gen) l;
  -- A line that says that it was ended makes way for what became of it.
  IF has_ended THEN
    DELETE FROM activity a USING holds h WHERE h.generation_id = ANY (p_gen) AND h.ended_at IS NOT NULL AND a.generation_id = h.generation_id;
  END IF;
  FOR c IN
    WITH gone AS (DELETE FROM holds h WHERE h.generation_id = ANY (p_gen) RETURNING h.*),
    done AS MATERIALIZED (
      SELECT g.generation_id AS gen, g.account_id AS payer, (SELECT k.account_id FROM keys k WHERE k.id = g.key_id) AS now_of, g.key_id AS of_key, g.amount_nanos AS held, g.admitted_at AS since, g.day,
        g.counted_as, g.ended_at IS NOT NULL AS late, g.pos, g.tokens, greatest(g.amount_nanos, l.hold_nanos) AS granted,
        l.input_tokens + l.cache_read_tokens + l.cache_write_tokens + l.cache_write_1h_tokens + l.image_input_tokens + l.output_tokens + l.image_output_tokens AS used, l.*
      FROM gone g JOIN unnest(p_gen, p_at, p_amount, p_rate, p_version, p_answer, l_request_id, l_key_id, l_admitted, l_model, l_provider, l_end_user, l_stream,
          l_status, l_code, l_ended_by, l_finish_reason, l_started_at, l_first_event_ms, l_total_ms, l_input, l_cache_read, l_cache_write, l_image_input,
          l_output, l_reasoning, l_image_output, l_input_images, l_output_images, l_search_units, l_usage_source, l_cost, l_cost_rub, l_failed, l_operator_cost,
          l_stated, l_resolution, l_quality, l_refusal, l_hold, l_bound, l_cache_write_1h, l_calls, l_modifiers, l_surface, l_session, l_cut, l_credential, l_node)
        AS l(generation_id, at, amount, rate, version, answer, request_id, key_id, admitted, model, provider, end_user, stream,
          status, code, ended_by, finish_reason, started_at, first_event_ms, total_ms, input_tokens, cache_read_tokens, cache_write_tokens, image_input_tokens,
          output_tokens, reasoning_tokens, image_output_tokens, input_images, output_images, search_units, usage_source, cost_nanos, cost_rub_micros,
          failed_attempts, operator_cost_nanos, stated_cost_nanos, image_resolution, image_quality, refusal, hold_nanos, lowered_bound, cache_write_1h_tokens,
          server_calls, modifiers, surface, session, cut_tools, credential, node)
        ON l.generation_id = g.generation_id),
    charged AS (
      INSERT INTO ledger (id, account_id, kind, amount_nanos, at, key_id, generation_id, rub_per_usd, price_version, day, end_user)
      SELECT 'led_' || substr(d.gen, 5), d.payer, 'charge', -d.amount, d.at, d.of_key, d.gen, d.rate, d.version, d.day, d.counted_as
      FROM done d WHERE d.amount IS NOT NULL),
    days AS (
      INSERT INTO key_days AS kd SELECT d.of_key, d.day, sum(coalesce(d.amount, 0)), count(*) FILTER (WHERE NOT d.late) FROM done d GROUP BY 1, 2
      ON CONFLICT (key_id, day) DO UPDATE SET spent_nanos = kd.spent_nanos + excluded.spent_nanos, requests = kd.requests + excluded.requests),
    users AS (
      INSERT INTO end_user_days AS ud SELECT d.of_key, d.day, d.counted_as, sum(coalesce(d.amount, 0)), count(*) FILTER (WHERE NOT d.late) FROM done d
        WHERE d.counted_as IS NOT NULL GROUP BY 1, 2, 3
      ON CONFLICT (key_id, day, end_user) DO UPDATE SET spent_nanos = ud.spent_nanos + excluded.spent_nanos, requests = ud.requests + excluded.requests
      RETURNING ud.spent_nanos >= ud.mark AS may_pass),
    of_keys AS (
      UPDATE key_state t SET held_nanos = t.held_nanos - g.held, in_progress = t.in_progress - g.n, held_day = t.held_day - g.held_day,
          spent_day = t.spent_day + g.spent_day, held_month = t.held_month - g.held_month, spent_month = t.spent_month + g.spent_month,
          tokens_spent = t.tokens_spent + g.tokens_spent, tokens_held = t.tokens_held - g.tokens_held, tokens_nth = t.tokens_nth + g.tokens_nth
      FROM (SELECT d.of_key, count(*) FILTER (WHERE NOT d.late) AS n, sum(d.held)::bigint AS held,
              coalesce(sum(d.held) FILTER (WHERE d.day = s.day), 0)::bigint AS held_day, coalesce(sum(d.amount) FILTER (WHERE d.day = s.day), 0)::bigint AS spent_day,
              coalesce(sum(d.held) FILTER (WHERE same_month(d.day, s.day)), 0)::bigint AS held_month,
              coalesce(sum(d.amount) FILTER (WHERE same_month(d.day, s.day)), 0)::bigint AS spent_month,
              coalesce(sum(d.used) FILTER (WHERE d.pos > s.tokens_from), 0)::bigint AS tokens_spent,
              coalesce(sum(d.tokens) FILTER (WHERE d.pos > s.tokens_from AND NOT d.late), 0)::bigint AS tokens_held,
              CASE WHEN bool_or(d.pos IS NULL) THEN 0 ELSE 1 END AS tokens_nth
            FROM done d JOIN key_state s ON s.key_id = d.of_key GROUP BY 1) g
      WHERE t.key_id = g.of_key RETURNING t.spent_day >= t.mark_day OR t.spent_month >= t.mark_month AS may_pass),
    -- One that was moved in the meantime is paid where it was admitted, and counts there.
    of_accounts AS (
      UPDATE account_state t SET held_nanos = t.held_nanos - g.held, in_progress = t.in_progress - g.n, balance_nanos = t.balance_nanos - g.amount,
          held_day = t.held_day - g.held_day, spent_day = t.spent_day + g.spent_day, held_month = t.held_month - g.held_month,
          spent_month = t.spent_month + g.spent_month,
          tokens_spent = t.tokens_spent + g.tokens_spent, tokens_held = t.tokens_held - g.tokens_held, tokens_nth = t.tokens_nth + g.tokens_nth
      FROM (SELECT d.payer, count(*) FILTER (WHERE NOT d.late) AS n, coalesce(sum(d.held), 0)::bigint AS held, coalesce(sum(d.amount), 0)::bigint AS amount,
              coalesce(sum(d.held) FILTER (WHERE d.day = s.day), 0)::bigint AS held_day, coalesce(sum(d.amount) FILTER (WHERE d.day = s.day), 0)::bigint AS spent_day,
              coalesce(sum(d.held) FILTER (WHERE same_month(d.day, s.day)), 0)::bigint AS held_month,
              coalesce(sum(d.amount) FILTER (WHERE same_month(d.day, s.day)), 0)::bigint AS spent_month,
              coalesce(sum(d.used) FILTER (WHERE d.pos > s.tokens_from), 0)::bigint AS tokens_spent,
              coalesce(sum(d.tokens) FILTER (WHERE d.pos > s.tokens_from AND NOT d.late), 0)::bigint AS tokens_held,
              CASE WHEN bool_or(d.pos IS NULL) THEN 0 ELSE 1 END AS tokens_nth
            FROM done d JOIN account_state s ON s.account_id = d.payer GROUP BY 1) g
      WHERE t.account_id = g.payer
      RETURNING t.summed AND (t.spent_day >= t.mark_day OR t.spent_month >= t.mark_month)
        OR t.balance_nanos < (SELECT h.below_nanos FROM thresholds h WHERE h.account_id = t.account_id) AS may_pass),
    logged AS (
      INSERT INTO activity (generation_id, request_id, account_id, key_id, admitted, model, provider, end_user, stream, status, code, ended_by, finish_reason,
        started_at, admitted_at, first_event_ms, total_ms, input_tokens, cache_read_tokens, cache_write_tokens, image_input_tokens, output_tokens,
        reasoning_tokens, image_output_tokens, input_images, output_images, search_units, usage_source, cost_nanos, cost_rub_micros, failed_attempts,
        operator_cost_nanos, stated_cost_nanos, image_resolution, image_quality, refusal, hold_nanos, lowered_bound, cache_write_1h_tokens, server_calls,
        modifiers, surface, session, cut_tools, credential, node)
      SELECT d.gen, d.request_id, d.payer, d.key_id, d.admitted, d.model, d.provider, d.end_user, d.stream, d.status, d.code, d.ended_by, d.finish_reason,
        d.started_at, d.since, d.first_event_ms, d.total_ms, d.input_tokens, d.cache_read_tokens, d.cache_write_tokens, d.image_input_tokens, d.output_tokens,
        d.reasoning_tokens, d.image_output_tokens, d.input_images, d.output_images, d.search_units, d.usage_source, d.cost_nanos, d.cost_rub_micros, d.failed_attempts,
        d.operator_cost_nanos, d.stated_cost_nanos, d.image_resolution, d.image_quality, d.refusal, d.hold_nanos, d.lowered_bound, d.cache_write_1h_tokens, d.server_calls,
        d.modifiers, d.surface, d.session, d.cut_tools, d.credential, d.node
      FROM done d ON CONFLICT DO NOTHING)
    SELECT d.gen, d.payer, d.now_of, d.of_key, d.day, d.late, d.counted_as, d.granted, d.amount, d.at, d.answer, d.provider, d.model,
      (SELECT bool_or(a.may_pass) FROM (SELECT may_pass FROM of_keys UNION ALL SELECT may_pass FROM of_accounts UNION ALL SELECT may_pass FROM users) a) AS may_pass
    FROM done d
  LOOP
    done_gen := done_gen || c.gen;
    IF c.payer <> c.now_of THEN PERFORM stay(c.payer, c.now_of, c.day, coalesce(c.amount, 0), CASE WHEN c.late THEN 0 ELSE 1 END); END IF;
    IF c.answer IS NOT NULL THEN
      -- None is found any more that was found before by its name.
      UPDATE answers o SET whole = false FROM answers w WHERE w.id = c.answer AND o.key_id = w.key_id AND o.idempotency_key = w.idempotency_key AND o.whole;
      UPDATE answers SET whole = true WHERE id = c.answer;
    END IF;
    IF c.may_pass AND c.amount > 0 THEN
      may_pass := true; paid_key := paid_key || c.of_key; paid_user := array_append(paid_user, c.counted_as); paid_acc := paid_acc || c.payer; paid_at := paid_at || c.at;
    END IF;
    IF c.amount > c.granted THEN
      any_passed := true;
      INSERT INTO passed_marks (kind, fact) VALUES ('beyond_hold', jsonb_build_object('accountId', c.payer, 'keyId', c.of_key, 'generationId', c.gen,
        'provider', c.provider, 'model', c.model, 'held', c.granted, 'charged', c.amount, 'at', c.at));
    END IF;
  END LOOP;
  -- Nearly never.
  IF may_pass THEN any_passed := note_passed(paid_key, paid_user, paid_acc, paid_at, (SELECT max(x) FROM unnest(p_at) x)) OR any_passed; END IF;
  RETURN QUERY SELECT g, any_passed FROM unnest(done_gen) AS g;
END $$;

-- Ends these requests, which nobody waits for any more: their places are free, the log has them as broken off by the gateway, and their
-- names may be used again. `how`: 'silent' keeps their money held, 'released' frees it too; what their node settles nevertheless
-- is charged late, for a day. 'void' is for good.
CREATE OR REPLACE FUNCTION end_holds(p_gen text[], p_at bigint, how text) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
BEGIN
  IF cardinality(p_gen) = 0 THEN RETURN; END IF;
  PERFORM lock_accounts_of(p_gen);
  PERFORM stay(h.account_id, k.account_id, h.day, 0, 1) FROM holds h JOIN keys k ON k.id = h.key_id
    WHERE h.generation_id = ANY (p_gen) AND h.ended_at IS NULL AND h.account_id <> k.account_id;
  WITH ended AS (
      UPDATE holds h SET ended_at = p_at, idempotency_key = NULL, body_sha256 = NULL WHERE h.generation_id = ANY (p_gen) AND h.ended_at IS NULL
      RETURNING h.*),
    days AS (
      INSERT INTO key_days AS kd SELECT e.key_id, e.day, 0, count(*) FROM ended e GROUP BY 1, 2
      ON CONFLICT (key_id, day) DO UPDATE SET requests = kd.requests + excluded.requests),
    users AS (
      INSERT INTO end_user_days AS ud SELECT e.key_id, e.day, e.counted_as, 0, count(*) FROM ended e WHERE e.counted_as IS NOT NULL GROUP BY 1, 2, 3
      ON CONFLICT (key_id, day, end_user) DO UPDATE SET requests = ud.requests + excluded.requests),
    of_keys AS (UPDATE key_state t SET in_progress = t.in_progress - g.n FROM (SELECT e.key_id, count(*) AS n FROM ended e GROUP BY 1) g WHERE t.key_id = g.key_id),
    of_accounts AS (
      UPDATE account_state s SET in_progress = s.in_progress - g.n FROM (SELECT e.account_id, count(*) AS n FROM ended e GROUP BY 1) g
      WHERE s.account_id = g.account_id)
  INSERT INTO activity (generation_id, request_id, account_id, key_id, admitted, model, end_user, stream, status, code, ended_by, started_at, admitted_at,
      total_ms, input_tokens, cache_read_tokens, cache_write_tokens, image_input_tokens, output_tokens, reasoning_tokens, image_output_tokens, input_images,
      output_images, search_units, cost_nanos, cost_rub_micros, operator_cost_nanos, hold_nanos, cache_write_1h_tokens, surface, session, node)
    SELECT e.generation_id, e.request_id, e.account_id, e.key_id, true, e.model, e.end_user, false, 500, 'internal_error', 'gateway', e.admitted_at, e.admitted_at,
      greatest(0, p_at - e.admitted_at), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, e.amount_nanos, 0, e.surface, e.session, e.node
    FROM ended e ON CONFLICT DO NOTHING;
  IF how = 'silent' THEN RETURN; END IF;
  UPDATE account_state s SET held_nanos = s.held_nanos - g.held, held_day = s.held_day - g.held_day, held_month = s.held_month - g.held_month
    FROM (SELECT s.account_id, sum(h.amount_nanos)::bigint AS held, coalesce(sum(h.amount_nanos) FILTER (WHERE h.day = s.day), 0)::bigint AS held_day,
            coalesce(sum(h.amount_nanos) FILTER (WHERE month_of(h.day) = month_of(s.day)), 0)::bigint AS held_month
          FROM holds h JOIN account_state s USING (account_id) WHERE h.generation_id = ANY (p_gen) GROUP BY 1) g
    WHERE s.account_id = g.account_id;
  UPDATE key_state t SET held_nanos = t.held_nanos - g.held, held_day = t.held_day - g.held_day, held_month = t.held_month - g.held_month
    FROM (SELECT t.key_id, sum(h.amount_nanos)::bigint AS held, coalesce(sum(h.amount_nanos) FILTER (WHERE h.day = t.day), 0)::bigint AS held_day,
            coalesce(sum(h.amount_nanos) FILTER (WHERE month_of(h.day) = month_of(t.day)), 0)::bigint AS held_month
          FROM holds h JOIN key_state t USING (key_id) WHERE h.generation_id = ANY (p_gen) GROUP BY 1) g
    WHERE t.key_id = g.key_id;
  IF how = 'released' THEN UPDATE holds h SET amount_nanos = 0 WHERE h.generation_id = ANY (p_gen);
  ELSE DELETE FROM holds h WHERE h.generation_id = ANY (p_gen);
  END IF;
END $$;

-- Ends what these epochs hold, by which nothing is admitted any more, and all that these nodes hold, which includes their processes.
-- No admission runs meanwhile: each has been written, or will see what is written here.
CREATE OR REPLACE FUNCTION end_epochs(p_epochs text[], p_nodes text[], p_at bigint, how text) RETURNS void LANGUAGE plpgsql SET jit = off AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(7001);
  INSERT INTO ended_epochs SELECT e, p_at FROM unnest(p_epochs) e ON CONFLICT DO NOTHING;
  PERFORM end_holds(ARRAY(SELECT h.generation_id FROM holds h WHERE h.epoch = ANY (p_epochs) OR h.node = ANY (p_nodes)), p_at, how);
END $$;

-- Voids those of these claims that were admitted, and sees to it that the others never are.
CREATE OR REPLACE FUNCTION give_up(p_gen text[], p_at bigint) RETURNS void LANGUAGE plpgsql SET jit = off AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(7001);
  INSERT INTO given_up SELECT g, p_at FROM unnest(p_gen) g ON CONFLICT DO NOTHING;
  PERFORM end_holds(p_gen, p_at, 'void');
END $$;

-- Ends the nodes that have not beaten for so long, at the word of one that has beaten all the while: after an outage of the database
-- every node has been silent. Answers their epochs. What was ended a day ago is void.
CREATE OR REPLACE FUNCTION end_silent(p_epoch text, p_at bigint, silence interval) RETURNS SETOF text LANGUAGE plpgsql SET jit = off AS $$
DECLARE epochs text[]; names text[]; held text[];
BEGIN
  held := ARRAY(SELECT h.generation_id FROM holds h WHERE h.ended_at < p_at - 86400000 LIMIT 1000);
  -- With accounts locked no other lock is waited for: the next beat does the rest.
  IF cardinality(held) > 0 THEN PERFORM end_holds(held, p_at, 'void'); RETURN; END IF;
  IF NOT EXISTS (SELECT FROM nodes n WHERE n.epoch = p_epoch AND n.beating_since < clock_timestamp() - silence) THEN RETURN; END IF;
  IF NOT EXISTS (SELECT FROM nodes n WHERE n.beat_at < clock_timestamp() - silence AND NOT EXISTS (SELECT FROM ended_epochs e WHERE e.epoch = n.epoch))
    THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(7001);
  -- One may have beaten while the lock was waited for.
  SELECT array_agg(n.epoch), array_agg(n.name) INTO epochs, names FROM nodes n
    WHERE n.beat_at < clock_timestamp() - silence AND NOT EXISTS (SELECT FROM ended_epochs e WHERE e.epoch = n.epoch);
  IF epochs IS NULL THEN RETURN; END IF;
  PERFORM end_epochs(epochs, names, p_at, 'silent');
  RETURN QUERY SELECT unnest(epochs);
END $$;

-- What keys have used, in the order of their ids; `by_clock` counts those of the log by the clock alone, for a window without a limit.
CREATE OR REPLACE FUNCTION usage_of(ids text[], at_ bigint, with_windows boolean, by_clock boolean)
RETURNS TABLE (o bigint, known boolean, in_progress bigint, held bigint, spent_day bigint, spent_month bigint, rpm bigint, minute_used bigint, minute_oldest bigint,
  rpd bigint, day_used bigint, day_oldest bigint, tpm bigint, tokens_used bigint, tokens_oldest bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE c record; win record; today bigint; pos bigint; stepped boolean;
BEGIN
  FOR c IN
    SELECT u.id, u.o, k.id AS key, k.rpm, k.rpd, k.tpm, t.in_progress, t.held_nanos, t.taken, t.day, t.spent_day, t.spent_month, s.account_id, s.pos, s.set_back, s.steps,
      s.newest_at, s.stepped_to, s.day AS counted, t.tokens_from, t.tokens_spent, t.tokens_held
    FROM unnest(ids) WITH ORDINALITY AS u(id, o) LEFT JOIN keys k ON k.id = u.id LEFT JOIN key_state t ON t.key_id = k.id
    LEFT JOIN account_state s ON s.account_id = k.account_id ORDER BY u.o
  LOOP
    o := c.o; known := c.key IS NOT NULL; in_progress := c.in_progress; held := c.held_nanos; rpm := c.rpm; rpd := c.rpd; tpm := c.tpm; tokens_used := NULL; tokens_oldest := 0;
    minute_used := NULL; day_used := NULL; minute_oldest := 0; day_oldest := 0;
    IF NOT known THEN RETURN NEXT; CONTINUE; END IF;
    today := day_at(at_, c.counted);
    IF c.day = today THEN spent_day := c.spent_day; spent_month := c.spent_month;
    ELSE
      SELECT coalesce(sum(d.spent_nanos) FILTER (WHERE d.day = today), 0), coalesce(sum(d.spent_nanos), 0) INTO spent_day, spent_month
        FROM key_days d WHERE d.key_id = c.key AND d.day >= month_of(today) AND d.day < next_month(today);
    END IF;
    IF with_windows THEN
      SELECT p.pos INTO pos FROM place_of(at_, c.pos, c.set_back, c.steps) p;
      stepped := pos < c.stepped_to OR at_ < c.newest_at - 5000;
      IF rpm IS NOT NULL THEN
        win := count_window(false, c.key, 60000, at_, pos, stepped, c.taken, c.taken, NULL, NULL); minute_used := win.used; minute_oldest := win.oldest;
      ELSIF by_clock THEN SELECT count(*) INTO minute_used FROM slots s WHERE s.key_id = c.key AND s.pos > at_ - 60000 AND s.at > at_ - 60000 AND s.at < at_ + 60000;
      END IF;
      IF rpd IS NOT NULL THEN
        win := count_window(false, c.key, 86400000, at_, pos, stepped, c.taken, c.taken, NULL, NULL); day_used := win.used; day_oldest := win.oldest;
      ELSIF by_clock THEN SELECT count(*) INTO day_used FROM slots s WHERE s.key_id = c.key AND s.pos > at_ - 86400000 AND s.at > at_ - 86400000 AND s.at < at_ + 86400000;
      END IF;
      IF tpm IS NOT NULL OR by_clock THEN
        SELECT w.used, w.oldest INTO tokens_used, tokens_oldest
          FROM show_tokens(false, c.key, at_, pos, stepped, CASE WHEN tpm IS NOT NULL THEN c.tokens_from END, c.tokens_spent, c.tokens_held) w;
      END IF;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- The same of accounts. What is spent is null where no limit counts it.
CREATE OR REPLACE FUNCTION account_use(ids text[], at_ bigint)
RETURNS TABLE (o bigint, in_progress bigint, spent_day bigint, spent_month bigint, rpm bigint, minute_used bigint, minute_oldest bigint,
  rpd bigint, day_used bigint, day_oldest bigint, tpm bigint, tokens_used bigint, tokens_oldest bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE c record; win record; today bigint; pos bigint; stepped boolean;
BEGIN
  FOR c IN
    SELECT u.o, a.id, a.rpm, a.rpd, a.tpm, a.concurrency, a.daily, a.monthly, s.in_progress, s.taken, s.day, s.summed, s.spent_day, s.spent_month, s.pos,
      s.set_back, s.steps, s.newest_at, s.stepped_to, s.tokens_from, s.tokens_spent, s.tokens_held
    FROM unnest(ids) WITH ORDINALITY AS u(id, o) JOIN accounts a ON a.id = u.id JOIN account_state s ON s.account_id = a.id ORDER BY u.o
  LOOP
    o := c.o; in_progress := c.in_progress; rpm := c.rpm; rpd := c.rpd; tpm := c.tpm; spent_day := NULL; spent_month := NULL;
    minute_used := NULL; minute_oldest := 0; day_used := NULL; day_oldest := 0; tokens_used := NULL; tokens_oldest := 0;
    today := day_at(at_, c.day);
    IF coalesce(c.rpm, c.rpd, c.tpm, c.concurrency, c.daily, c.monthly) IS NULL THEN NULL;
    ELSIF c.summed AND c.day = today THEN spent_day := c.spent_day; spent_month := c.spent_month;
    ELSE
      spent_day := spent_by(c.id, today, today + 1); spent_month := spent_by(c.id, month_of(today), next_month(today));
    END IF;
    SELECT p.pos INTO pos FROM place_of(at_, c.pos, c.set_back, c.steps) p;
    stepped := pos < c.stepped_to OR at_ < c.newest_at - 5000;
    IF rpm IS NOT NULL THEN
      win := count_window(true, c.id, 60000, at_, pos, stepped, c.taken, c.taken, NULL, NULL); minute_used := win.used; minute_oldest := win.oldest;
    END IF;
    IF rpd IS NOT NULL THEN
      win := count_window(true, c.id, 86400000, at_, pos, stepped, c.taken, c.taken, NULL, NULL); day_used := win.used; day_oldest := win.oldest;
    END IF;
    IF tpm IS NOT NULL THEN
      SELECT w.used, w.oldest INTO tokens_used, tokens_oldest FROM show_tokens(true, c.id, at_, pos, stepped, c.tokens_from, c.tokens_spent, c.tokens_held) w;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- The first id of a day.
CREATE OR REPLACE FUNCTION first_of(day bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'gen-' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', (day * 86400000 >> 5 * n & 31)::int + 1, 1), '' ORDER BY n DESC)
    FROM generate_series(0, 9) n $$;

-- Gives the log those of these days that it has not, as the owner of the tables. A day stays among the others where one of its lines is there already.
CREATE OR REPLACE FUNCTION make_days(first_day bigint, last_day bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET lock_timeout = 200 AS $$
DECLARE name text;
BEGIN
  PERFORM pg_advisory_xact_lock(7004);
  FOR day IN first_day .. last_day LOOP
    name := 'activity_' || to_char(date '1970-01-01' + day::int, 'YYYYMMDD');
    CONTINUE WHEN to_regclass('public.' || name) IS NOT NULL
      OR EXISTS (SELECT FROM public.activity a WHERE a.generation_id >= first_of(day) AND a.generation_id < first_of(day + 1));
    BEGIN
      EXECUTE format('CREATE TABLE public.%I (LIKE public.activity INCLUDING ALL)', name);
      EXECUTE format('ALTER TABLE public.activity ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', name, first_of(day), first_of(day + 1));
    -- What was written before the log had days reaches into it.
    EXCEPTION WHEN invalid_object_definition THEN NULL;
    END;
  END LOOP;
END $$;

-- Drops the oldest day of the log of which all lines had ended before `before_`, and answers how many lines that were; null where there is none.
CREATE OR REPLACE FUNCTION drop_day(before_ bigint) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT SET lock_timeout = 200 SET jit = off AS $$
DECLARE c record; lines bigint; latest bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(7004);
  FOR c IN
    SELECT p.relname AS name, (to_date(right(p.relname, 8), 'YYYYMMDD') - date '1970-01-01')::bigint AS day
    FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhrelid
    WHERE i.inhparent = 'public.activity'::regclass AND p.relname ~ '^activity_\d{8}$' ORDER BY 1
  LOOP
    EXIT WHEN (c.day + 1) * 86400000 > before_;
    -- Until it is dropped no line comes to it.
    EXECUTE format('LOCK TABLE public.%I IN SHARE MODE', c.name);
    EXECUTE format('SELECT count(*), max(started_at + total_ms) FROM public.%I', c.name) INTO lines, latest;
    CONTINUE WHEN latest >= before_;
    IF lines > 0 THEN
      INSERT INTO kept_since AS k (log, since) VALUES ('activity', (c.day + 1) * 86400000)
        ON CONFLICT (log) DO UPDATE SET since = greatest(k.since, excluded.since);
    END IF;
    EXECUTE format('DROP TABLE public.%I', c.name);
    RETURN lines;
  END LOOP;
  RETURN NULL;
END $$;
