-- The sums that a charge moved: its UTC day, and its end user as counted there (the empty name is all that came after the
-- most that are told apart). So every sum can be added up again from the ledger alone, whatever becomes of the log.
ALTER TABLE ledger ADD COLUMN day INTEGER;
ALTER TABLE ledger ADD COLUMN end_user TEXT;

DROP TRIGGER ledger_is_append_only_update;

UPDATE ledger SET day =
  coalesce((SELECT admitted_at FROM activity WHERE generation_id = ledger.generation_id), at) / 86400000
WHERE kind = 'charge';

-- Its own name before the empty one; none where no sum of an end user was kept that day.
UPDATE ledger SET end_user = (
  SELECT sums.end_user FROM activity
  JOIN end_user_days AS sums
    ON sums.key_id = ledger.key_id AND sums.day = ledger.day AND sums.end_user IN (activity.end_user, '')
  WHERE activity.generation_id = ledger.generation_id
  ORDER BY sums.end_user DESC LIMIT 1)
WHERE kind = 'charge';

CREATE TRIGGER ledger_is_append_only_update BEFORE UPDATE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
