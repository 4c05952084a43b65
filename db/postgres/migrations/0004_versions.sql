-- Functions are in a schema for each version from here on; those of before would be found where one of theirs is missing.
DO $$
DECLARE f text;
BEGIN
  FOR f IN SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.proname = ANY (ARRAY[
    'month_of', 'next_month', 'day_at', 'place_of', 'stepped_window', 'slot_wait', 'count_window', 'token_window', 'write_admitted', 'spent_by', 'admit',
    'passed_mark', 'lock_accounts_of', 'stay', 'settle', 'end_holds', 'end_epochs', 'give_up', 'end_silent', 'usage_of', 'account_use'])
  LOOP EXECUTE 'DROP FUNCTION ' || f; END LOOP;
END $$;

-- The oldest version whose nodes may serve from it.
ALTER TABLE schema_version ADD serves_from bigint NOT NULL DEFAULT 4;
-- That of the node's binary.
ALTER TABLE nodes ADD schema bigint NOT NULL DEFAULT 3;
