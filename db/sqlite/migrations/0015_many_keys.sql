-- What many keys write at the same time lies side by side: a group of requests by a thousand keys wrote a page for each of
-- them, where they now share a dozen.

CREATE TABLE key_days_by_day (
  key_id      TEXT NOT NULL REFERENCES keys (id),
  day         INTEGER NOT NULL,
  spent_nanos INTEGER NOT NULL,
  requests    INTEGER NOT NULL,
  PRIMARY KEY (day, key_id)
) STRICT, WITHOUT ROWID;
INSERT INTO key_days_by_day SELECT key_id, day, spent_nanos, requests FROM key_days ORDER BY day, key_id;
DROP TABLE key_days;
ALTER TABLE key_days_by_day RENAME TO key_days;

CREATE TABLE end_user_days_by_day (
  key_id      TEXT NOT NULL REFERENCES keys (id),
  day         INTEGER NOT NULL,
  end_user    TEXT NOT NULL,
  spent_nanos INTEGER NOT NULL,
  requests    INTEGER NOT NULL,
  PRIMARY KEY (day, key_id, end_user)
) STRICT, WITHOUT ROWID;
INSERT INTO end_user_days_by_day SELECT key_id, day, end_user, spent_nanos, requests FROM end_user_days
  ORDER BY day, key_id, end_user;
DROP TABLE end_user_days;
ALTER TABLE end_user_days_by_day RENAME TO end_user_days;

-- The admitted requests of the log by their key, so that its windows can be read back. An index would be written with every
-- line, on another page for every key; this is brought up to the log thousands of lines at a time. It has every line before
-- `window_slots_end`, and the log itself tells of those behind it.
CREATE TABLE window_slots (
  key_id        TEXT NOT NULL,
  admitted_at   INTEGER NOT NULL,
  generation_id TEXT NOT NULL,
  PRIMARY KEY (key_id, admitted_at, generation_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE window_slots_end (
  one   INTEGER PRIMARY KEY CHECK (one = 1),
  below TEXT NOT NULL
) STRICT;

INSERT INTO window_slots SELECT key_id, admitted_at, generation_id FROM activity WHERE admitted = 1
  ORDER BY key_id, admitted_at, generation_id;
INSERT INTO window_slots_end SELECT 1, coalesce(max(generation_id) || '~', '') FROM activity;
DROP INDEX activity_windows;
