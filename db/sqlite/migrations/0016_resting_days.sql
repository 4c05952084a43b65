-- The sums of a key's days in two tables: those that changed lately lie together in a small one, so that a group of requests by a
-- thousand keys writes a dozen pages, however many keys are busy on that day. The others rest in a large one. A sum is what both
-- have of it.

ALTER TABLE key_days RENAME TO resting_key_days;
CREATE TABLE key_days (
  key_id      TEXT NOT NULL REFERENCES keys (id),
  day         INTEGER NOT NULL,
  spent_nanos INTEGER NOT NULL,
  requests    INTEGER NOT NULL,
  PRIMARY KEY (day, key_id)
) STRICT, WITHOUT ROWID;
