-- The tokens of the last minute of a key, and of an account: of its slots whose places are behind `tokens_from`, what has ended and what is in
-- progress. Null: not known, and added up by the next admission that has such a limit.
ALTER TABLE key_state ADD tokens_from bigint, ADD tokens_spent bigint NOT NULL DEFAULT 0, ADD tokens_held bigint NOT NULL DEFAULT 0,
  -- Of what has carried them on.
  ADD tokens_nth bigint NOT NULL DEFAULT 0;
ALTER TABLE account_state ADD tokens_from bigint, ADD tokens_spent bigint NOT NULL DEFAULT 0, ADD tokens_held bigint NOT NULL DEFAULT 0,
  ADD tokens_nth bigint NOT NULL DEFAULT 0;
-- Of its slot; null where a node of before has admitted it.
ALTER TABLE holds ADD pos bigint;

-- Whatever admits, settles or ends without carrying them on, as nodes of before do, takes them away.
CREATE FUNCTION forget_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'key_state' THEN UPDATE key_state SET tokens_from = NULL WHERE key_id = NEW.key_id;
  ELSE UPDATE account_state SET tokens_from = NULL WHERE account_id = NEW.account_id; END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER key_tokens_are_carried_on AFTER UPDATE OF in_progress ON key_state FOR EACH ROW
  WHEN (OLD.tokens_from IS NOT NULL AND NEW.tokens_from IS NOT NULL AND OLD.tokens_nth = NEW.tokens_nth) EXECUTE FUNCTION forget_tokens();
CREATE TRIGGER account_tokens_are_carried_on AFTER UPDATE OF in_progress ON account_state FOR EACH ROW
  WHEN (OLD.tokens_from IS NOT NULL AND NEW.tokens_from IS NOT NULL AND OLD.tokens_nth = NEW.tokens_nth) EXECUTE FUNCTION forget_tokens();

-- Nothing asks for it: what ends an epoch looks for its node, too, and so at all holds.
DROP INDEX holds_by_epoch;
