-- Admission and settlement of a batch, each one transaction. The rules are those of judgeClaim, judgeLowBalance and passedMark in the
-- domain: a test holds both against each other. Locks: the accounts' rows alone, in the order of ids, never across a network trip.
--
-- From top to bottom: days and the time line; windows of requests, and of tokens; admit; settle; what ends an epoch or a claim; what reports read; the days of the log.

CREATE OR REPLACE FUNCTION month_of(day bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (date_trunc('month', timestamp '1970-01-01' + day * interval '1 day')::date - date '1970-01-01')::bigint $$;
CREATE OR REPLACE FUNCTION next_month(day bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ((date_trunc('month', timestamp '1970-01-01' + day * interval '1 day') + interval '1 month')::date - date '1970-01-01')::bigint $$;

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

-- How long until a window with `used` of `lim` has a free slot: the place of the request that has to leave, by bisection.
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

-- A window of the key, or of the account, of this id: how many are in it, until when the oldest is, and, where `lim` is reached, until when it
-- is. Numbers grow with places, so that it is one look-up. `taken` is the number of the last slot, `written` that of the last in the table, and
-- `first_pos` the place of the one after that.
CREATE OR REPLACE FUNCTION count_window(of_account boolean, id text, span bigint, at_ bigint, pos_ bigint, stepped boolean, taken bigint, written bigint,
  first_pos bigint, lim bigint, OUT used bigint, OUT oldest bigint, OUT wait bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE n bigint; p bigint;
BEGIN
  IF stepped THEN SELECT w.used, w.oldest, w.wait INTO used, oldest, wait FROM stepped_window(id, span, at_, pos_, lim) w; RETURN; END IF;
  IF of_account THEN SELECT s.account_nth, s.pos INTO n, p FROM slots s WHERE s.account_id = id AND s.pos > pos_ - span ORDER BY s.pos, s.account_nth LIMIT 1;
  ELSE SELECT s.nth, s.pos INTO n, p FROM slots s WHERE s.key_id = id AND s.pos > pos_ - span ORDER BY s.pos, s.nth LIMIT 1; END IF;
  used := taken - coalesce(n - 1, written);
  oldest := CASE WHEN used = 0 THEN 0 ELSE coalesce(p, first_pos) + span - pos_ END;
  wait := CASE WHEN used >= lim THEN slot_wait(of_account, id, span, pos_, taken, lim) ELSE 0 END;
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

-- Whether so many tokens fit into a minute: beside none in progress all do, while the limit is not reached.
CREATE OR REPLACE FUNCTION tokens_fit(spent bigint, held bigint, lim bigint, wanted bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT spent < lim AND (held = 0 OR spent + held + wanted <= lim) $$;

-- How long until `wanted` fits if none of those in progress ends before. The oldest leave first; no more are read than have to.
CREATE OR REPLACE FUNCTION token_wait(of_account boolean, id text, since bigint, pos_ bigint, spent bigint, held bigint, lim bigint, wanted bigint)
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
      IF weights[k] < 0 THEN held := held + weights[k]; ELSE spent := spent - weights[k]; END IF;
      p := places[k]; n := nths[k];
      IF tokens_fit(spent, held, lim, wanted) THEN RETURN p + 60000 - pos_; END IF;
    END LOOP;
  END LOOP;
END $$;

-- The tokens of a minute while the clock is, or was, set: as `stepped_window`. `wait` is 0 where `wanted` fits now.
CREATE OR REPLACE FUNCTION stepped_tokens(id text, at_ bigint, pos_ bigint, lim bigint, wanted bigint,
  OUT used bigint, OUT oldest bigint, OUT wait bigint) LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
DECLARE gens text[]; leaves bigint[]; weights bigint[]; spent bigint; held bigint;
BEGIN
  SELECT array_agg(f.generation_id ORDER BY f.ms), array_agg(f.ms ORDER BY f.ms) INTO gens, leaves FROM (
    SELECT s.generation_id, greatest(CASE WHEN s.at > at_ - 60000 AND s.at < at_ + 60000 THEN least(s.at, at_) + 60000 - at_ ELSE 0 END,
                                     s.pos + 60000 - pos_) AS ms
    FROM slots s WHERE (s.account_id = id AND s.pos > at_ - 60000) OR (s.key_id = id AND s.pos > at_ - 60000)) f WHERE f.ms > 0;
  weights := weigh(gens);
  SELECT coalesce(sum(w) FILTER (WHERE w > 0), 0), coalesce(-sum(w) FILTER (WHERE w < 0), 0) INTO spent, held FROM unnest(weights) w;
  used := spent + held;
  oldest := coalesce(leaves[1], 0);
  wait := 0;
  FOR k IN 1 .. coalesce(cardinality(leaves), 0) LOOP
    EXIT WHEN tokens_fit(spent, held, lim, wanted);
    IF weights[k] < 0 THEN held := held + weights[k]; ELSE spent := spent - weights[k]; END IF;
    wait := leaves[k];
  END LOOP;
END $$;

-- The tokens of a minute as a list shows them, and until when the oldest of its requests is in it.
CREATE OR REPLACE FUNCTION show_tokens(of_account boolean, id text, at_ bigint, pos_ bigint, stepped boolean, kept_from bigint, kept_spent bigint, kept_held bigint,
  OUT used bigint, OUT oldest bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE t record;
BEGIN
  IF stepped THEN SELECT s.used, s.oldest INTO used, oldest FROM stepped_tokens(id, at_, pos_, 1, 0) s; RETURN; END IF;
  t := tokens_since(of_account, id, pos_ - 60000, kept_from, kept_spent, kept_held);
  used := t.spent + t.held;
  IF of_account THEN SELECT min(s.pos) INTO oldest FROM slots s WHERE s.account_id = id AND s.pos > pos_ - 60000;
  ELSE SELECT min(s.pos) INTO oldest FROM slots s WHERE s.key_id = id AND s.pos > pos_ - 60000; END IF;
  oldest := coalesce(oldest + 60000 - pos_, 0);
END $$;

CREATE OR REPLACE FUNCTION write_admitted(w_gen text[], w_req text[], w_node text[], w_epoch text[], w_key text[], w_acc text[], w_at bigint[],
  w_model text[], w_user text[], w_as text[], w_surface text[], w_session text[], w_repeat text[], w_digest text[], w_pos bigint[], w_nth bigint[],
  w_anth bigint[], w_hold bigint[], w_day bigint[], w_tokens bigint[]) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  INSERT INTO slots (generation_id, key_id, account_id, at, pos, nth, account_nth, end_user, counted_as)
    SELECT * FROM unnest(w_gen, w_key, w_acc, w_at, w_pos, w_nth, w_anth, w_user, w_as);
  INSERT INTO holds (generation_id, request_id, account_id, key_id, model, amount_nanos, admitted_at, end_user, counted_as, day, node, epoch,
      idempotency_key, body_sha256, surface, session, tokens, pos)
    SELECT * FROM unnest(w_gen, w_req, w_acc, w_key, w_model, w_hold, w_at, w_user, w_as, w_day, w_node, w_epoch, w_repeat, w_digest, w_surface, w_session, w_tokens, w_pos);
END $$;

-- What an account was charged on some days: what its keys have spent on them, and what is beside that.
CREATE OR REPLACE FUNCTION spent_by(acc text, first bigint, before bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT (coalesce((SELECT sum(d.spent_nanos) FROM keys k JOIN key_days d ON d.key_id = k.id WHERE k.account_id = acc AND d.day >= first AND d.day < before), 0)
    + coalesce((SELECT sum(m.spent_nanos) FROM moved_days m WHERE m.account_id = acc AND m.day >= first AND m.day < before), 0))::bigint $$;

-- A verdict for each claim of a batch, in their order. With `takes`, what is admitted takes its slots and its hold. Money in
-- nano-dollars. `o_…` are the offers of all claims in one row, of which a claim has `p_offers` from `p_first` on. `now_` is the node's clock as
-- it sends the batch: a claim that has waited for seconds lies there on the time line, for no clock was set back.
CREATE OR REPLACE FUNCTION admit(takes boolean, now_ bigint, p_gen text[], p_req text[], p_node text[], p_epoch text[], p_key text[], p_at bigint[],
  p_catalogue bigint[], p_model text[], p_user text[], p_surface text[], p_session text[], p_repeat text[], p_digest text[],
  p_first bigint[], p_offers bigint[], o_prompt bigint[], o_base bigint[], o_per bigint[], o_choices bigint[], o_full bigint[],
  o_floor bigint[], o_out bigint[])
RETURNS TABLE (i bigint, code text, lim text, of_account boolean, limit_value bigint, used bigint, resets_at bigint, retry bigint,
  held bigint, requests bigint, money bigint, hold bigint, rpm bigint, minute_used bigint, minute_oldest bigint,
  rpd bigint, day_used bigint, day_oldest bigint, answer bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE
  n int := cardinality(p_gen);
  accs text[];
  version bigint;
  c record;
  win record;
  cur_key text;
  cur_acc text;
  -- of the account
  a_bal bigint; a_held bigint; a_prog bigint; a_pos bigint; a_back bigint; a_newest bigint; a_step bigint; a_taken bigint; a_base bigint;
  a_day bigint; a_summed boolean; a_sd bigint; a_hd bigint; a_sm bigint; a_hm bigint; a_limited boolean; a_tf bigint; a_ts bigint; a_th bigint;
  a_first int; -- of those that it is to write, the first of this account
  -- of the key
  k_held bigint; k_prog bigint; k_taken bigint; k_base bigint; k_day bigint; k_sd bigint; k_hd bigint; k_sm bigint; k_hm bigint;
  k_users bigint; k_first bigint; k_turned boolean; k_tf bigint; k_ts bigint; k_th bigint;
  -- of the end user
  u_name text; u_known boolean; u_spent bigint; u_held bigint; u_prog bigint;
  -- of the claim
  today bigint; seen bigint; pos bigint; back bigint; stepped boolean; base bigint; out_ bigint; room bigint; ample boolean; j int; b bigint;
  most numeric; tokens bigint; most_tokens bigint; minute bigint; m_used bigint; m_oldest bigint; m_wait bigint; d_used bigint; d_oldest bigint; d_wait bigint; w_used bigint; w_wait bigint;
  part bigint; kind int; w_lim text;
  -- the limits of money that apply: 1 key's day, 2 its month, 3 its end user's day, 4 and 5 those of the account, 6 the balance
  l_kind int[]; l_ceiling bigint[]; l_spent bigint[]; l_held bigint[]; l_requests bigint[];
  -- what is to be written
  np int := 0; w_gen text[]; w_req text[]; w_node text[]; w_epoch text[]; w_key text[]; w_acc text[]; w_at bigint[]; w_model text[]; w_user text[];
  w_as text[]; w_surface text[]; w_session text[]; w_repeat text[]; w_digest text[]; w_pos bigint[]; w_nth bigint[]; w_anth bigint[]; w_hold bigint[];
  w_day bigint[]; w_tokens bigint[];
  -- the states as they are then
  s_id text[]; s_held bigint[]; s_prog bigint[]; s_pos bigint[]; s_back bigint[]; s_newest bigint[]; s_step bigint[]; s_taken bigint[]; s_day bigint[];
  s_summed boolean[]; s_sd bigint[]; s_hd bigint[]; s_sm bigint[]; s_hm bigint[]; s_turned boolean[]; s_tf bigint[]; s_ts bigint[]; s_th bigint[];
  t_id text[]; t_held bigint[]; t_prog bigint[]; t_taken bigint[]; t_day bigint[]; t_sd bigint[]; t_hd bigint[]; t_sm bigint[]; t_hm bigint[];
  t_users bigint[]; t_at bigint[]; t_turned boolean[]; t_tf bigint[]; t_ts bigint[]; t_th bigint[];
  na int := 0; nk int := 0;
  a_turned boolean; a_changed boolean; a_steps bigint[]; steps bigint[]; s_changed boolean[]; k_at bigint;
BEGIN
  IF takes THEN
    -- Held by every admission, so that whoever ends an epoch knows of all that it has.
    PERFORM pg_advisory_xact_lock_shared(7001);
    LOOP
      accs := ARRAY(SELECT DISTINCT k.account_id FROM keys k WHERE k.id = ANY (p_key));
      PERFORM FROM account_state s WHERE s.account_id = ANY (accs) ORDER BY s.account_id FOR NO KEY UPDATE;
      -- One may have been moved while its lock was waited for.
      EXIT WHEN NOT EXISTS (SELECT FROM keys k WHERE k.id = ANY (p_key) AND k.account_id <> ALL (accs));
    END LOOP;
  END IF;
  SELECT v.version INTO version FROM catalogue_version v;
  FOR c IN
    SELECT u.*, k.account_id AS acc, k.rpm AS k_rpm, k.rpd AS k_rpd, k.tpm AS k_tpm, k.concurrency AS k_conc, k.daily AS k_daily, k.monthly AS k_monthly,
      k.user_rpm, k.user_daily, k.expires_at, k.disabled_at, k.revoked_at,
      a.rpm AS a_rpm, a.rpd AS a_rpd, a.tpm AS a_tpm, a.concurrency AS a_conc, a.daily AS a_daily, a.monthly AS a_monthly,
      s.balance_nanos, s.held_nanos AS s_held, s.in_progress AS s_prog, s.pos, s.set_back, s.steps, s.newest_at, s.stepped_to, s.taken AS s_taken,
      s.day AS s_day, s.summed, s.spent_day AS s_sd, s.held_day AS s_hd, s.spent_month AS s_sm, s.held_month AS s_hm,
      s.tokens_from AS s_tf, s.tokens_spent AS s_ts, s.tokens_held AS s_th, t.tokens_from AS t_tf, t.tokens_spent AS t_ts, t.tokens_held AS t_th,
      t.held_nanos AS t_held, t.in_progress AS t_prog, t.taken AS t_taken, t.day AS t_day, t.spent_day AS t_sd, t.held_day AS t_hd,
      t.spent_month AS t_sm, t.held_month AS t_hm, t.users, e.epoch AS ended, g.generation_id AS given_up
    FROM unnest(p_gen, p_req, p_node, p_epoch, p_key, p_at, p_catalogue, p_model, p_user, p_surface, p_session, p_repeat, p_digest, p_first, p_offers)
      WITH ORDINALITY AS u(gen, req, node, epoch, key, at, catalogue, model, usr, surface, session, repeat, digest, first, offers, o)
    LEFT JOIN keys k ON k.id = u.key
    LEFT JOIN accounts a ON a.id = k.account_id
    LEFT JOIN account_state s ON s.account_id = k.account_id
    LEFT JOIN key_state t ON t.key_id = u.key
    LEFT JOIN ended_epochs e ON e.epoch = u.epoch
    LEFT JOIN given_up g ON g.generation_id = u.gen
    ORDER BY k.account_id, u.key, u.o
  LOOP
    i := c.o; code := NULL; lim := NULL; of_account := false; limit_value := NULL; used := NULL; resets_at := NULL; retry := NULL;
    held := NULL; requests := NULL; money := NULL; hold := NULL; rpm := NULL; minute_used := NULL; minute_oldest := NULL;
    rpd := NULL; day_used := NULL; day_oldest := NULL; answer := NULL;
    IF c.catalogue IS DISTINCT FROM version AND c.catalogue IS NOT NULL THEN code := 'stale'; RETURN NEXT; CONTINUE; END IF;
    IF c.acc IS NULL THEN code := 'key_not_found'; RETURN NEXT; CONTINUE; END IF;
    IF c.given_up IS NOT NULL THEN code := 'given_up'; RETURN NEXT; CONTINUE; END IF;

    -- What was collected is written before anything reads the tables of holds and slots, and at the end.
    IF np > 0 AND (c.repeat IS NOT NULL OR c.usr IS NOT NULL OR c.s_day <> c.at / 86400000) THEN
      PERFORM write_admitted(w_gen, w_req, w_node, w_epoch, w_key, w_acc, w_at, w_model, w_user, w_as, w_surface, w_session, w_repeat, w_digest,
        w_pos, w_nth, w_anth, w_hold, w_day, w_tokens);
      np := 0; w_gen := NULL; w_req := NULL; w_node := NULL; w_epoch := NULL; w_key := NULL; w_acc := NULL; w_at := NULL; w_model := NULL; w_user := NULL;
      w_as := NULL; w_surface := NULL; w_session := NULL; w_repeat := NULL; w_digest := NULL; w_pos := NULL; w_nth := NULL; w_anth := NULL; w_hold := NULL;
      w_day := NULL; w_tokens := NULL;
      k_base := k_taken; a_base := a_taken; a_first := NULL;
    END IF;

    IF cur_acc IS DISTINCT FROM c.acc THEN
      cur_acc := c.acc; a_bal := c.balance_nanos; a_held := c.s_held; a_prog := c.s_prog; a_pos := c.pos; a_back := c.set_back; a_steps := c.steps;
      a_newest := c.newest_at; a_step := c.stepped_to; a_taken := c.s_taken; a_base := a_taken; a_day := c.s_day; a_summed := c.summed;
      a_sd := c.s_sd; a_hd := c.s_hd; a_sm := c.s_sm; a_hm := c.s_hm; a_turned := false; a_changed := false;
      a_limited := c.a_daily IS NOT NULL OR c.a_monthly IS NOT NULL;
      a_tf := CASE WHEN c.a_tpm IS NOT NULL THEN c.s_tf END; a_ts := c.s_ts; a_th := c.s_th; a_first := NULL;
    END IF;
    IF cur_key IS DISTINCT FROM c.key THEN
      cur_key := c.key; k_held := c.t_held; k_prog := c.t_prog; k_taken := c.t_taken; k_base := k_taken; k_day := c.t_day;
      k_sd := c.t_sd; k_hd := c.t_hd; k_sm := c.t_sm; k_hm := c.t_hm; k_users := c.users; k_turned := false; k_first := NULL; k_at := NULL;
      k_tf := CASE WHEN c.k_tpm IS NOT NULL THEN c.t_tf END; k_ts := c.t_ts; k_th := c.t_th;
    END IF;

    -- Repeated before any limit is judged.
    IF takes AND c.repeat IS NOT NULL THEN
      SELECT CASE WHEN h.body_sha256 = c.digest THEN 'running' ELSE 'other_body' END INTO code
        FROM holds h WHERE h.key_id = c.key AND h.idempotency_key = c.repeat;
      IF code IS NULL THEN
        SELECT CASE WHEN w.body_sha256 = c.digest THEN 'kept' ELSE 'other_body' END, w.id INTO code, answer FROM answers w
          WHERE w.key_id = c.key AND w.idempotency_key = c.repeat AND w.whole AND w.created_at > c.at - 86400000
            AND EXISTS (SELECT FROM answer_pieces p WHERE p.answer_id = w.id AND p.place = 0);
      END IF;
      IF code IS NOT NULL THEN RETURN NEXT; CONTINUE; END IF;
    END IF;
    IF c.ended IS NOT NULL THEN code := 'fenced'; RETURN NEXT; CONTINUE; END IF;

    -- The day of the account, and of its keys, with its sums.
    today := day_at(c.at, a_day);
    IF a_limited AND (today <> a_day OR NOT a_summed) THEN
      IF NOT (a_summed AND today = a_day + 1 AND month_of(today) = month_of(a_day)) THEN
        a_sm := spent_by(c.acc, month_of(today), next_month(today));
      END IF;
      a_sd := spent_by(c.acc, today, today + 1);
      SELECT coalesce(sum(h.amount_nanos) FILTER (WHERE h.day = today), 0),
          coalesce(sum(h.amount_nanos) FILTER (WHERE h.day >= month_of(today) AND h.day < next_month(today)), 0)
        INTO a_hd, a_hm FROM holds h WHERE h.account_id = c.acc;
      a_summed := true; a_turned := true;
    ELSIF today <> a_day THEN a_summed := false; a_turned := true;
    END IF;
    a_day := today;
    IF k_day <> today THEN
      SELECT coalesce(sum(d.spent_nanos) FILTER (WHERE d.day = today), 0), coalesce(sum(d.spent_nanos), 0) INTO k_sd, k_sm
        FROM key_days d WHERE d.key_id = c.key AND d.day >= month_of(today) AND d.day < next_month(today);
      SELECT coalesce(sum(h.amount_nanos) FILTER (WHERE h.day = today), 0),
          coalesce(sum(h.amount_nanos) FILTER (WHERE h.day >= month_of(today) AND h.day < next_month(today)), 0)
        INTO k_hd, k_hm FROM holds h WHERE h.key_id = c.key;
      SELECT count(*) INTO k_users FROM end_user_days d WHERE d.key_id = c.key AND d.day = today AND d.end_user <> '';
      k_day := today; k_turned := true;
    END IF;

    u_name := NULL; u_known := true;
    IF c.usr IS NOT NULL THEN
      u_name := c.usr;
      SELECT d.spent_nanos INTO u_spent FROM end_user_days d WHERE d.key_id = c.key AND d.day = today AND d.end_user = u_name;
      u_known := FOUND;
      IF NOT u_known AND k_users >= 10000 THEN
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
    pos := seen + a_back; back := a_back; steps := a_steps;
    -- As `place_of` says of a clock that was never set, which costs a tenth of the admission to ask.
    IF pos < a_pos - 5000 OR cardinality(steps) > 0 THEN SELECT * INTO pos, back, steps FROM place_of(seen, a_pos, a_back, a_steps); END IF;
    IF steps <> a_steps OR back <> a_back THEN
      a_steps := steps; a_back := back; a_changed := true;
      IF takes THEN UPDATE account_state s SET steps = a_steps WHERE s.account_id = c.acc; END IF;
    END IF;
    IF seen < a_newest - 5000 THEN a_step := greatest(pos, a_pos) + 86400000; a_newest := seen; a_changed := true; END IF;
    stepped := pos < a_step;

    -- The windows of the key. Those of tokens read what was collected where they begin or end in it, or may be full.
    rpm := c.k_rpm; rpd := c.k_rpd; m_used := NULL; d_used := NULL; m_oldest := 0; d_oldest := 0; minute := pos - 60000; most_tokens := 0;
    IF a_first IS NOT NULL AND (c.k_tpm IS NOT NULL OR c.a_tpm IS NOT NULL) THEN
      FOR j IN c.first .. c.first + c.offers - 1 LOOP most_tokens := greatest(most_tokens, o_prompt[j] + o_choices[j] * o_full[j]); END LOOP;
    END IF;
    IF a_first IS NOT NULL AND (stepped AND coalesce(rpm, rpd, c.k_tpm, c.a_rpm, c.a_rpd, c.a_tpm) IS NOT NULL
        OR c.k_tpm IS NOT NULL AND (k_tf IS NULL OR minute < k_tf OR minute >= w_pos[a_first] OR k_ts + k_th + most_tokens >= c.k_tpm)
        OR c.a_tpm IS NOT NULL AND (a_tf IS NULL OR minute < a_tf OR minute >= w_pos[a_first] OR a_ts + a_th + most_tokens >= c.a_tpm)) THEN
      PERFORM write_admitted(w_gen, w_req, w_node, w_epoch, w_key, w_acc, w_at, w_model, w_user, w_as, w_surface, w_session, w_repeat, w_digest,
        w_pos, w_nth, w_anth, w_hold, w_day, w_tokens);
      np := 0; w_gen := NULL; w_req := NULL; w_node := NULL; w_epoch := NULL; w_key := NULL; w_acc := NULL; w_at := NULL; w_model := NULL; w_user := NULL;
      w_as := NULL; w_surface := NULL; w_session := NULL; w_repeat := NULL; w_digest := NULL; w_pos := NULL; w_nth := NULL; w_anth := NULL; w_hold := NULL;
      w_day := NULL; w_tokens := NULL;
      k_base := k_taken; a_base := a_taken; a_first := NULL;
    END IF;
    IF rpm IS NOT NULL THEN
      win := count_window(false, c.key, 60000, c.at, pos, stepped, k_taken, k_base, k_first, rpm); m_used := win.used; m_oldest := win.oldest; m_wait := win.wait;
    END IF;
    IF rpd IS NOT NULL THEN
      win := count_window(false, c.key, 86400000, c.at, pos, stepped, k_taken, k_base, k_first, rpd); d_used := win.used; d_oldest := win.oldest; d_wait := win.wait;
    END IF;

    -- What it is granted: where all money is ample, all that it wants; else the least share of what any limit has left.
    base := 0; out_ := 0;
    FOR j IN c.first .. c.first + c.offers - 1 LOOP
      base := greatest(base, o_base[j]); out_ := greatest(out_, o_out[j]);
    END LOOP;
    room := base + 32 * out_;
    ample := a_bal - a_held > room
      AND (c.k_daily IS NULL OR c.k_daily - k_sd - k_hd > room) AND (c.k_monthly IS NULL OR c.k_monthly - k_sm - k_hm > room)
      AND (u_name IS NULL OR c.user_daily IS NULL OR c.user_daily - u_spent - u_held > room)
      AND (c.a_daily IS NULL OR c.a_daily - a_sd - a_hd > room) AND (c.a_monthly IS NULL OR c.a_monthly - a_sm - a_hm > room);
    IF NOT ample THEN
      l_kind := ARRAY[]::int[]; l_ceiling := ARRAY[]::bigint[]; l_spent := l_ceiling; l_held := l_ceiling; l_requests := l_ceiling;
      IF c.k_daily IS NOT NULL THEN l_kind := l_kind || 1; l_ceiling := l_ceiling || c.k_daily; l_spent := l_spent || k_sd; l_held := l_held || k_hd; l_requests := l_requests || k_prog; END IF;
      IF c.k_monthly IS NOT NULL THEN l_kind := l_kind || 2; l_ceiling := l_ceiling || c.k_monthly; l_spent := l_spent || k_sm; l_held := l_held || k_hm; l_requests := l_requests || k_prog; END IF;
      IF u_name IS NOT NULL AND c.user_daily IS NOT NULL THEN l_kind := l_kind || 3; l_ceiling := l_ceiling || c.user_daily; l_spent := l_spent || u_spent; l_held := l_held || u_held; l_requests := l_requests || u_prog; END IF;
      IF c.a_daily IS NOT NULL THEN l_kind := l_kind || 4; l_ceiling := l_ceiling || c.a_daily; l_spent := l_spent || a_sd; l_held := l_held || a_hd; l_requests := l_requests || a_prog; END IF;
      IF c.a_monthly IS NOT NULL THEN l_kind := l_kind || 5; l_ceiling := l_ceiling || c.a_monthly; l_spent := l_spent || a_sm; l_held := l_held || a_hm; l_requests := l_requests || a_prog; END IF;
      l_kind := l_kind || 6; l_ceiling := l_ceiling || a_bal; l_spent := l_spent || 0::bigint; l_held := l_held || a_held; l_requests := l_requests || a_prog;
      FOR j IN 1 .. cardinality(l_kind) LOOP
        IF l_held[j] = 0 AND l_kind[j] < 4 THEN CONTINUE; END IF;
        part := greatest(0, l_ceiling[j] - l_spent[j] - l_held[j] - base) / CASE WHEN l_held[j] = 0 THEN 2 ELSE 32 END;
        IF money IS NULL OR part < money THEN money := part; END IF;
      END LOOP;
    END IF;
    hold := 0; tokens := 0;
    FOR j IN c.first .. c.first + c.offers - 1 LOOP
      IF money IS NULL OR o_floor[j] >= o_full[j] OR o_out[j] <= money THEN
        b := o_full[j]; most := o_base[j] + o_out[j];
      ELSE
        b := greatest(o_floor[j], div(money::numeric * 1000000, o_choices[j]::numeric * o_per[j]));
        most := o_base[j] + CASE WHEN b = o_full[j] THEN o_out[j] ELSE div(o_choices[j]::numeric * b * o_per[j] + 999999, 1000000) END;
      END IF;
      hold := greatest(hold, least(most, 9007199254740991)); tokens := greatest(tokens, o_prompt[j] + o_choices[j] * b);
    END LOOP;

    -- The first rule that refuses.
    kind := NULL;
    IF NOT ample THEN
      FOR j IN 1 .. cardinality(l_kind) LOOP
        IF l_spent[j] >= l_ceiling[j] THEN
          kind := l_kind[j]; limit_value := l_ceiling[j]; used := l_spent[j];
          code := CASE WHEN kind IN (2, 5) THEN 'monthly_spend_limit_exceeded' WHEN kind = 6 THEN 'insufficient_balance' ELSE 'daily_spend_limit_exceeded' END;
          resets_at := CASE WHEN kind IN (2, 5) THEN next_month(c.at / 86400000) * 86400000 WHEN kind = 6 THEN NULL ELSE (c.at / 86400000 + 1) * 86400000 END;
          EXIT;
        END IF;
      END LOOP;
    END IF;
    IF code IS NULL THEN
      w_lim := NULL;
      IF m_used >= rpm THEN
        w_lim := 'rpm_limit'; limit_value := rpm; used := m_used; w_wait := m_wait;
      ELSIF d_used >= rpd THEN
        w_lim := 'rpd_limit'; limit_value := rpd; used := d_used; w_wait := d_wait;
      END IF;
      IF w_lim IS NULL AND c.k_tpm IS NOT NULL THEN
        IF stepped THEN SELECT w.used, w.wait INTO w_used, w_wait FROM stepped_tokens(c.key, c.at, pos, c.k_tpm, tokens) w;
        ELSE
          win := tokens_since(false, c.key, minute, k_tf, k_ts, k_th); k_tf := win.kept_from; k_ts := win.kept_spent; k_th := win.kept_held;
          w_used := win.spent + win.held;
          w_wait := CASE WHEN tokens_fit(win.spent, win.held, c.k_tpm, tokens) THEN 0 ELSE token_wait(false, c.key, minute, pos, win.spent, win.held, c.k_tpm, tokens) END;
        END IF;
        IF w_wait > 0 THEN w_lim := 'tpm_limit'; limit_value := c.k_tpm; used := w_used; END IF;
      END IF;
      IF w_lim IS NULL AND u_name IS NOT NULL AND c.user_rpm IS NOT NULL THEN
        SELECT count(*), (array_agg(ms ORDER BY ms DESC))[c.user_rpm] INTO w_used, w_wait FROM (
          SELECT greatest(CASE WHEN stepped AND s.at > c.at - 60000 AND s.at < c.at + 60000 THEN least(s.at, c.at) + 60000 - c.at ELSE 0 END,
              s.pos + 60000 - pos) AS ms
          FROM slots s WHERE s.key_id = c.key AND s.end_user IS NOT NULL AND (s.end_user = u_name OR (u_name = '' AND s.counted_as = '' AND s.at / 86400000 = today))
            AND s.pos > CASE WHEN stepped THEN c.at ELSE pos END - 60000) found WHERE ms > 0;
        IF w_used >= c.user_rpm THEN w_lim := 'end_user_rpm'; limit_value := c.user_rpm; used := w_used; END IF;
      END IF;
      IF w_lim IS NULL AND c.a_rpm IS NOT NULL THEN
        win := count_window(true, c.acc, 60000, c.at, pos, stepped, a_taken, a_base, NULL, c.a_rpm); w_used := win.used; w_wait := win.wait;
        IF w_used >= c.a_rpm THEN w_lim := 'rpm_limit'; of_account := true; limit_value := c.a_rpm; used := w_used; END IF;
      END IF;
      IF w_lim IS NULL AND c.a_rpd IS NOT NULL THEN
        win := count_window(true, c.acc, 86400000, c.at, pos, stepped, a_taken, a_base, NULL, c.a_rpd); w_used := win.used; w_wait := win.wait;
        IF w_used >= c.a_rpd THEN w_lim := 'rpd_limit'; of_account := true; limit_value := c.a_rpd; used := w_used; END IF;
      END IF;
      IF w_lim IS NULL AND c.a_tpm IS NOT NULL THEN
        IF stepped THEN SELECT w.used, w.wait INTO w_used, w_wait FROM stepped_tokens(c.acc, c.at, pos, c.a_tpm, tokens) w;
        ELSE
          win := tokens_since(true, c.acc, minute, a_tf, a_ts, a_th); a_tf := win.kept_from; a_ts := win.kept_spent; a_th := win.kept_held;
          w_used := win.spent + win.held;
          w_wait := CASE WHEN tokens_fit(win.spent, win.held, c.a_tpm, tokens) THEN 0 ELSE token_wait(true, c.acc, minute, pos, win.spent, win.held, c.a_tpm, tokens) END;
        END IF;
        IF w_wait > 0 THEN w_lim := 'tpm_limit'; of_account := true; limit_value := c.a_tpm; used := w_used; END IF;
      END IF;
      IF w_lim IS NOT NULL THEN
        code := 'rate_limit_exceeded'; lim := w_lim; resets_at := seen + w_wait; retry := greatest(1, (least(w_wait, CASE w_lim WHEN 'rpd_limit' THEN 86400000 ELSE 60000 END) + 999) / 1000);
      ELSIF k_prog >= c.k_conc THEN
        code := 'concurrency_limit_exceeded'; lim := 'concurrency_limit'; limit_value := c.k_conc; used := k_prog; retry := 1;
      ELSIF a_prog >= c.a_conc THEN
        code := 'concurrency_limit_exceeded'; lim := 'concurrency_limit'; of_account := true; limit_value := c.a_conc; used := a_prog; retry := 1;
      ELSIF NOT ample THEN
        FOR j IN 1 .. cardinality(l_kind) LOOP
          IF l_held[j] > 0 AND l_spent[j] + l_held[j] + hold > l_ceiling[j] THEN
            kind := l_kind[j]; code := 'spend_reserved'; limit_value := l_ceiling[j]; used := l_spent[j] + l_held[j]; retry := 1;
            held := l_held[j]; requests := l_requests[j];
            EXIT;
          END IF;
        END LOOP;
      END IF;
    END IF;
    IF kind IS NOT NULL THEN
      lim := (ARRAY['daily_spend_limit_usd', 'monthly_spend_limit_usd', 'end_user_daily_usd', 'daily_spend_limit_usd', 'monthly_spend_limit_usd', 'balance_usd'])[kind];
      of_account := kind IN (4, 5);
    END IF;
    -- The key may have been revoked between its look-up and this claim.
    IF c.revoked_at IS NOT NULL OR c.expires_at <= c.at OR c.disabled_at IS NOT NULL THEN
      code := 'key_revoked'; of_account := false; limit_value := NULL; used := NULL; resets_at := NULL; retry := NULL; held := NULL; requests := NULL;
      lim := CASE WHEN c.revoked_at IS NOT NULL THEN 'revoked' WHEN c.expires_at <= c.at THEN 'expired' ELSE 'disabled' END;
    END IF;

    IF code IS NULL AND takes THEN
      a_pos := greatest(a_pos, pos); a_back := back; a_newest := greatest(a_newest, seen); a_taken := a_taken + 1; a_prog := a_prog + 1; a_held := a_held + hold;
      a_hd := a_hd + hold; a_hm := a_hm + hold;
      k_taken := k_taken + 1; k_prog := k_prog + 1; k_held := k_held + hold; k_hd := k_hd + hold; k_hm := k_hm + hold; k_at := c.at;
      IF k_taken = k_base + 1 THEN k_first := a_pos; END IF;
      IF m_used IS NOT NULL THEN m_used := m_used + 1; IF m_used = 1 THEN m_oldest := 60000 + a_pos - pos; END IF; END IF;
      IF d_used IS NOT NULL THEN d_used := d_used + 1; IF d_used = 1 THEN d_oldest := 86400000 + a_pos - pos; END IF; END IF;
      IF NOT u_known THEN
        INSERT INTO end_user_days (key_id, day, end_user, spent_nanos, requests) VALUES (c.key, today, u_name, 0, 0) ON CONFLICT DO NOTHING;
        IF u_name <> '' THEN k_users := k_users + 1; END IF;
      END IF;
      tokens := greatest(1, tokens);
      IF a_pos > k_tf THEN k_th := k_th + tokens; END IF;
      IF a_pos > a_tf THEN a_th := a_th + tokens; END IF;
      np := np + 1; a_first := coalesce(a_first, np); w_gen[np] := c.gen; w_req[np] := c.req; w_node[np] := c.node; w_epoch[np] := c.epoch; w_model[np] := c.model; w_surface[np] := c.surface;
      w_session[np] := c.session; w_repeat[np] := c.repeat; w_digest[np] := c.digest; w_acc[np] := c.acc; w_key[np] := c.key; w_at[np] := c.at; w_pos[np] := a_pos; w_nth[np] := k_taken;
      w_anth[np] := a_taken; w_user[np] := c.usr; w_as[np] := u_name; w_hold[np] := hold; w_day[np] := today; w_tokens[np] := tokens;
    END IF;
    minute_used := m_used; minute_oldest := m_oldest; day_used := d_used; day_oldest := d_oldest;
    -- The arrays of a state grow together: a claim that was answered above has no place in them.
    IF s_id[na] IS DISTINCT FROM cur_acc THEN na := na + 1; s_id[na] := cur_acc; END IF;
    IF t_id[nk] IS DISTINCT FROM cur_key THEN nk := nk + 1; t_id[nk] := cur_key; END IF;
    s_held[na] := a_held; s_prog[na] := a_prog; s_pos[na] := a_pos; s_back[na] := a_back; s_newest[na] := a_newest; s_step[na] := a_step; s_taken[na] := a_taken;
    s_day[na] := a_day; s_summed[na] := a_summed; s_sd[na] := a_sd; s_hd[na] := a_hd; s_sm[na] := a_sm; s_hm[na] := a_hm; s_turned[na] := a_turned; s_changed[na] := a_changed;
    s_tf[na] := a_tf; s_ts[na] := a_ts; s_th[na] := a_th; t_tf[nk] := k_tf; t_ts[nk] := k_ts; t_th[nk] := k_th;
    t_held[nk] := k_held; t_prog[nk] := k_prog; t_taken[nk] := k_taken; t_day[nk] := k_day; t_sd[nk] := k_sd; t_hd[nk] := k_hd; t_sm[nk] := k_sm; t_hm[nk] := k_hm;
    t_users[nk] := k_users; t_at[nk] := k_at; t_turned[nk] := k_turned;
    RETURN NEXT;
  END LOOP;

  IF NOT takes THEN RETURN; END IF;
  IF np > 0 THEN
    PERFORM write_admitted(w_gen, w_req, w_node, w_epoch, w_key, w_acc, w_at, w_model, w_user, w_as, w_surface, w_session, w_repeat, w_digest,
      w_pos, w_nth, w_anth, w_hold, w_day, w_tokens);
  END IF;
  UPDATE account_state s SET held_nanos = w.held, in_progress = w.prog, pos = w.pos, set_back = w.back, newest_at = w.newest, stepped_to = w.step, taken = w.taken,
      day = w.day, summed = w.summed, spent_day = w.sd, held_day = w.hd, spent_month = w.sm, held_month = w.hm,
      tokens_from = w.tf, tokens_spent = w.ts, tokens_held = w.th, tokens_nth = s.tokens_nth + 1,
      mark_day = CASE WHEN w.turned THEN 0 ELSE s.mark_day END, mark_month = CASE WHEN w.turned THEN 0 ELSE s.mark_month END
    FROM unnest(s_id, s_held, s_prog, s_pos, s_back, s_newest, s_step, s_taken, s_day, s_summed, s_sd, s_hd, s_sm, s_hm, s_turned, s_changed, s_tf, s_ts, s_th)
      AS w(id, held, prog, pos, back, newest, step, taken, day, summed, sd, hd, sm, hm, turned, changed, tf, ts, th)
    WHERE s.account_id = w.id AND (s.taken <> w.taken OR w.turned OR w.changed OR coalesce(w.tf > s.tokens_from + 1000, w.tf IS NOT NULL));
  UPDATE key_state t SET held_nanos = w.held, in_progress = w.prog, taken = w.taken, day = w.day, spent_day = w.sd, held_day = w.hd, spent_month = w.sm,
      held_month = w.hm, users = w.users, last_used_at = coalesce(w.at, t.last_used_at),
      tokens_from = w.tf, tokens_spent = w.ts, tokens_held = w.th, tokens_nth = t.tokens_nth + 1,
      mark_day = CASE WHEN w.turned THEN 0 ELSE t.mark_day END, mark_month = CASE WHEN w.turned THEN 0 ELSE t.mark_month END
    FROM unnest(t_id, t_held, t_prog, t_taken, t_day, t_sd, t_hd, t_sm, t_hm, t_users, t_at, t_turned, t_tf, t_ts, t_th)
      AS w(id, held, prog, taken, day, sd, hd, sm, hm, users, at, turned, tf, ts, th)
    -- What only read moves the sums of tokens on by a second at a time.
    WHERE t.key_id = w.id AND (t.taken <> w.taken OR w.turned OR coalesce(w.tf > t.tokens_from + 1000, w.tf IS NOT NULL));
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

-- Locks the accounts of these requests, those that pay and those that their keys are in by now, in one order for all; answers which.
CREATE OR REPLACE FUNCTION lock_accounts_of(p_gen text[]) RETURNS text[]
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE accs text[];
BEGIN
  LOOP
    accs := ARRAY(SELECT h.account_id FROM holds h WHERE h.generation_id = ANY (p_gen)
      UNION SELECT k.account_id FROM holds h JOIN keys k ON k.id = h.key_id WHERE h.generation_id = ANY (p_gen));
    PERFORM FROM account_state s WHERE s.account_id = ANY (accs) ORDER BY s.account_id FOR NO KEY UPDATE;
    EXIT WHEN NOT EXISTS (SELECT FROM holds h JOIN keys k ON k.id = h.key_id WHERE h.generation_id = ANY (p_gen)
      AND (h.account_id <> ALL (accs) OR k.account_id <> ALL (accs)));
  END LOOP;
  RETURN accs;
END $$;

-- What a request whose key is in another account by now adds to the key's day counts where it was admitted, under the locks of both.
CREATE OR REPLACE FUNCTION stay(payer text, now_of text, on_day bigint, spent bigint, counted bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO moved_days AS m (account_id, day, spent_nanos, requests) VALUES (payer, on_day, spent, counted), (now_of, on_day, -spent, -counted)
  ON CONFLICT (account_id, day) DO UPDATE SET spent_nanos = m.spent_nanos + excluded.spent_nanos, requests = m.requests + excluded.requests $$;

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
  accs text[]; done_gen text[]; paid_key text[] := '{}'; paid_user text[] := '{}'; paid_acc text[]; paid_at bigint[]; any_passed boolean := false; c record; m record; percents bigint[];
BEGIN
  accs := lock_accounts_of(p_gen);

  -- None that was found before by its name.
  IF EXISTS (SELECT FROM unnest(p_answer) AS u(id) WHERE u.id IS NOT NULL) THEN
    UPDATE answers o SET whole = false
      FROM unnest(p_gen, p_answer) AS u(gen, id) JOIN holds h ON h.generation_id = u.gen JOIN answers w ON w.id = u.id
      WHERE o.key_id = w.key_id AND o.idempotency_key = w.idempotency_key AND o.whole;
  END IF;
  -- A line that says that it was ended makes way for what became of it.
  IF EXISTS (SELECT FROM holds h WHERE h.generation_id = ANY (p_gen) AND h.ended_at IS NOT NULL) THEN
    DELETE FROM activity a USING holds h WHERE h.generation_id = ANY (p_gen) AND h.ended_at IS NOT NULL AND a.generation_id = h.generation_id;
  END IF;
  FOR c IN
    WITH gone AS (DELETE FROM holds h WHERE h.generation_id = ANY (p_gen) RETURNING h.*),
    done AS MATERIALIZED (
      SELECT g.generation_id, g.account_id, g.key_id, g.amount_nanos AS held, g.admitted_at, g.day, g.counted_as, g.ended_at IS NOT NULL AS late, u.at, u.amount, u.rate, u.version, u.answer,
        k.account_id AS now_of, u.provider, u.model, greatest(g.amount_nanos, u.granted) AS granted, g.pos, g.tokens,
        u.input + u.cache_read + u.cache_write + u.cache_write_1h + u.image_input + u.output + u.image_output AS used
      FROM gone g JOIN unnest(p_gen, p_at, p_amount, p_rate, p_version, p_answer, l_provider, l_model, l_hold,
            l_input, l_cache_read, l_cache_write, l_cache_write_1h, l_image_input, l_output, l_image_output)
          AS u(gen, at, amount, rate, version, answer, provider, model, granted, input, cache_read, cache_write, cache_write_1h, image_input, output, image_output)
        ON u.gen = g.generation_id JOIN keys k ON k.id = g.key_id),
    charged AS (
      INSERT INTO ledger (id, account_id, kind, amount_nanos, at, key_id, generation_id, rub_per_usd, price_version, day, end_user)
      SELECT 'led_' || substr(d.generation_id, 5), d.account_id, 'charge', -d.amount, d.at, d.key_id, d.generation_id, d.rate, d.version, d.day, d.counted_as
      FROM done d WHERE d.amount IS NOT NULL),
    shown AS (UPDATE answers w SET whole = true FROM done d WHERE w.id = d.answer),
    days AS (
      INSERT INTO key_days AS kd SELECT d.key_id, d.day, sum(coalesce(d.amount, 0)), count(*) FILTER (WHERE NOT d.late) FROM done d GROUP BY 1, 2
      ON CONFLICT (key_id, day) DO UPDATE SET spent_nanos = kd.spent_nanos + excluded.spent_nanos, requests = kd.requests + excluded.requests),
    users AS (
      INSERT INTO end_user_days AS ud SELECT d.key_id, d.day, d.counted_as, sum(coalesce(d.amount, 0)), count(*) FILTER (WHERE NOT d.late) FROM done d
        WHERE d.counted_as IS NOT NULL GROUP BY 1, 2, 3
      ON CONFLICT (key_id, day, end_user) DO UPDATE SET spent_nanos = ud.spent_nanos + excluded.spent_nanos, requests = ud.requests + excluded.requests),
    of_keys AS (
      UPDATE key_state t SET held_nanos = t.held_nanos - g.held, in_progress = t.in_progress - g.n, held_day = t.held_day - g.held_day,
          spent_day = t.spent_day + g.spent_day, held_month = t.held_month - g.held_month, spent_month = t.spent_month + g.spent_month,
          tokens_spent = t.tokens_spent + g.tokens_spent, tokens_held = t.tokens_held - g.tokens_held, tokens_nth = t.tokens_nth + g.tokens_nth
      FROM (SELECT d.key_id, count(*) FILTER (WHERE NOT d.late) AS n, sum(d.held)::bigint AS held,
              coalesce(sum(d.held) FILTER (WHERE d.day = s.day), 0)::bigint AS held_day, coalesce(sum(d.amount) FILTER (WHERE d.day = s.day), 0)::bigint AS spent_day,
              coalesce(sum(d.held) FILTER (WHERE month_of(d.day) = month_of(s.day)), 0)::bigint AS held_month,
              coalesce(sum(d.amount) FILTER (WHERE month_of(d.day) = month_of(s.day)), 0)::bigint AS spent_month,
              coalesce(sum(d.used) FILTER (WHERE d.pos > s.tokens_from), 0)::bigint AS tokens_spent,
              coalesce(sum(d.tokens) FILTER (WHERE d.pos > s.tokens_from AND NOT d.late), 0)::bigint AS tokens_held,
              CASE WHEN bool_or(d.pos IS NULL) THEN 0 ELSE 1 END AS tokens_nth
            FROM done d JOIN key_state s USING (key_id) GROUP BY 1) g
      WHERE t.key_id = g.key_id),
    -- One that was moved in the meantime is paid where it was admitted, and counts there.
    of_accounts AS (
      UPDATE account_state t SET held_nanos = t.held_nanos - g.held, in_progress = t.in_progress - g.n, balance_nanos = t.balance_nanos - g.amount,
          held_day = t.held_day - g.held_day, spent_day = t.spent_day + g.spent_day, held_month = t.held_month - g.held_month,
          spent_month = t.spent_month + g.spent_month,
          tokens_spent = t.tokens_spent + g.tokens_spent, tokens_held = t.tokens_held - g.tokens_held, tokens_nth = t.tokens_nth + g.tokens_nth
      FROM (SELECT s.account_id, count(*) FILTER (WHERE NOT d.late) AS n, coalesce(sum(d.held), 0)::bigint AS held, coalesce(sum(d.amount), 0)::bigint AS amount,
              coalesce(sum(d.held) FILTER (WHERE d.day = s.day), 0)::bigint AS held_day, coalesce(sum(d.amount) FILTER (WHERE d.day = s.day), 0)::bigint AS spent_day,
              coalesce(sum(d.held) FILTER (WHERE month_of(d.day) = month_of(s.day)), 0)::bigint AS held_month,
              coalesce(sum(d.amount) FILTER (WHERE month_of(d.day) = month_of(s.day)), 0)::bigint AS spent_month,
              coalesce(sum(d.used) FILTER (WHERE d.pos > s.tokens_from), 0)::bigint AS tokens_spent,
              coalesce(sum(d.tokens) FILTER (WHERE d.pos > s.tokens_from AND NOT d.late), 0)::bigint AS tokens_held,
              CASE WHEN bool_or(d.pos IS NULL) THEN 0 ELSE 1 END AS tokens_nth
            FROM done d JOIN account_state s USING (account_id) GROUP BY 1) g
      WHERE t.account_id = g.account_id),
    logged AS (
      INSERT INTO activity (generation_id, request_id, account_id, key_id, admitted, model, provider, end_user, stream, status, code, ended_by, finish_reason,
        started_at, admitted_at, first_event_ms, total_ms, input_tokens, cache_read_tokens, cache_write_tokens, image_input_tokens, output_tokens,
        reasoning_tokens, image_output_tokens, input_images, output_images, search_units, usage_source, cost_nanos, cost_rub_micros, failed_attempts,
        operator_cost_nanos, stated_cost_nanos, image_resolution, image_quality, refusal, hold_nanos, lowered_bound, cache_write_1h_tokens, server_calls,
        modifiers, surface, session, cut_tools, credential, node)
      SELECT l.generation_id, l.request_id, d.account_id, l.key_id, l.admitted, l.model, l.provider, l.end_user, l.stream, l.status, l.code,
        l.ended_by, l.finish_reason, l.started_at, d.admitted_at, l.first_event_ms, l.total_ms, l.input_tokens, l.cache_read_tokens,
        l.cache_write_tokens, l.image_input_tokens, l.output_tokens, l.reasoning_tokens, l.image_output_tokens, l.input_images,
        l.output_images, l.search_units, l.usage_source, l.cost_nanos, l.cost_rub_micros, l.failed_attempts, l.operator_cost_nanos,
        l.stated_cost_nanos, l.image_resolution, l.image_quality, l.refusal, l.hold_nanos, l.lowered_bound, l.cache_write_1h_tokens,
        l.server_calls, l.modifiers, l.surface, l.session, l.cut_tools, l.credential, l.node
      FROM unnest(p_gen, l_request_id, l_account_id, l_key_id, l_admitted, l_model, l_provider, l_end_user, l_stream, l_status, l_code, l_ended_by,
        l_finish_reason, l_started_at, l_admitted_at, l_first_event_ms, l_total_ms, l_input, l_cache_read, l_cache_write, l_image_input, l_output,
        l_reasoning, l_image_output, l_input_images, l_output_images, l_search_units, l_usage_source, l_cost, l_cost_rub, l_failed,
        l_operator_cost, l_stated, l_resolution, l_quality, l_refusal, l_hold, l_bound, l_cache_write_1h, l_calls, l_modifiers, l_surface, l_session,
        l_cut, l_credential, l_node) AS l(generation_id, request_id, account_id, key_id, admitted, model, provider, end_user, stream, status, code, ended_by, finish_reason,
        started_at, admitted_at, first_event_ms, total_ms, input_tokens, cache_read_tokens, cache_write_tokens, image_input_tokens, output_tokens,
        reasoning_tokens, image_output_tokens, input_images, output_images, search_units, usage_source, cost_nanos, cost_rub_micros, failed_attempts,
        operator_cost_nanos, stated_cost_nanos, image_resolution, image_quality, refusal, hold_nanos, lowered_bound, cache_write_1h_tokens, server_calls,
        modifiers, surface, session, cut_tools, credential, node)
      JOIN done d ON d.generation_id = l.generation_id ON CONFLICT DO NOTHING)
    SELECT d.* FROM done d
  LOOP
    done_gen := done_gen || c.generation_id;
    IF c.account_id <> c.now_of THEN PERFORM stay(c.account_id, c.now_of, c.day, coalesce(c.amount, 0), CASE WHEN c.late THEN 0 ELSE 1 END); END IF;
    IF c.amount > 0 THEN
      paid_key := paid_key || c.key_id; paid_user := array_append(paid_user, c.counted_as); paid_acc := paid_acc || c.account_id; paid_at := paid_at || c.at;
    END IF;
    IF c.amount > c.granted THEN
      any_passed := true;
      INSERT INTO passed_marks (kind, fact) VALUES ('beyond_hold', jsonb_build_object('accountId', c.account_id, 'keyId', c.key_id, 'generationId', c.generation_id,
        'provider', c.provider, 'model', c.model, 'held', c.granted, 'charged', c.amount, 'at', c.at));
    END IF;
  END LOOP;

  -- Low balances, each judged once a batch, by what is left at its end.
  FOR c IN
    SELECT t.account_id, t.below_nanos, t.notified_at, s.balance_nanos, d.at
    FROM (SELECT u.acc AS account_id, max(u.at) AS at FROM unnest(paid_acc, paid_at) AS u(acc, at) GROUP BY 1) d
    JOIN thresholds t ON t.account_id = d.account_id JOIN account_state s ON s.account_id = d.account_id
    WHERE t.below_nanos IS NOT NULL AND s.balance_nanos < t.below_nanos
  LOOP
    IF c.notified_at IS NULL OR c.at - c.notified_at >= 86400000 OR c.at - c.notified_at < -86400000 THEN
      any_passed := true;
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
      WHERE s.account_id = ANY (accs) AND s.summed AND (s.spent_day >= s.mark_day OR s.spent_month >= s.mark_month)
        AND cardinality(paid_key) > 0
    UNION ALL
    SELECT 2, d.key_id, k.account_id, d.end_user, d.day, d.spent_nanos, 0, d.mark, 9223372036854775807, k.user_daily, NULL
      FROM end_user_days d JOIN keys k ON k.id = d.key_id JOIN key_state t ON t.key_id = d.key_id AND t.day = d.day
      WHERE (d.key_id, d.end_user) IN (SELECT u.key, u.usr FROM unnest(paid_key, paid_user) AS u(key, usr) WHERE u.usr IS NOT NULL)
        AND d.spent_nanos >= d.mark
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
        any_passed := true;
        INSERT INTO passed_marks (kind, fact) VALUES ((ARRAY['key', 'account', 'end_user'])[c.kind + 1], jsonb_build_object('accountId', c.account_id, 'keyId', c.key_id,
          'endUser', c.end_user, 'limit', CASE WHEN c.kind = 2 THEN 'end_user_daily_usd' ELSE 'daily_spend_limit_usd' END, 'ceiling', c.daily, 'spent', c.spent_day,
          'percent', m.percent, 'ends', c.day + 1, 'at', (SELECT max(x) FROM unnest(p_at) x)));
      END IF;
    END IF;
    IF c.kind < 2 AND c.spent_month >= c.mark_month THEN
      SELECT * INTO m FROM passed_mark(c.spent_month, c.monthly, percents);
      IF c.kind = 0 THEN UPDATE key_state SET mark_month = m.next WHERE key_id = c.key_id;
      ELSE UPDATE account_state SET mark_month = m.next WHERE account_id = c.account_id; END IF;
      IF m.percent IS NOT NULL THEN
        any_passed := true;
        INSERT INTO passed_marks (kind, fact) VALUES ((ARRAY['key', 'account'])[c.kind + 1], jsonb_build_object('accountId', c.account_id, 'keyId', c.key_id,
          'limit', 'monthly_spend_limit_usd', 'ceiling', c.monthly, 'spent', c.spent_month, 'percent', m.percent, 'ends', next_month(c.day),
          'at', (SELECT max(x) FROM unnest(p_at) x)));
      END IF;
    END IF;
  END LOOP;
  RETURN QUERY SELECT g, any_passed FROM unnest(done_gen) AS g;
END $$;

-- Ends these requests, which nobody waits for any more: their places are free, the log has them as broken off by the gateway, and their
-- names may be used again. `how`: 'silent' keeps their money held, 'released' frees it too; what their node settles nevertheless
-- is charged late, for a day. 'void' is for good.
CREATE OR REPLACE FUNCTION end_holds(p_gen text[], p_at bigint, how text) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE accs text[]; gens text[];
BEGIN
  IF cardinality(p_gen) = 0 THEN RETURN; END IF;
  accs := lock_accounts_of(p_gen);
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
