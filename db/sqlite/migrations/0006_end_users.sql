-- A key may cap each of its end users; what each spent on a UTC day is kept by key, day and end user. The empty name is all
-- that came after the most that are told apart in a day.
ALTER TABLE keys ADD COLUMN end_user_rpm INTEGER CHECK (end_user_rpm > 0);
ALTER TABLE keys ADD COLUMN end_user_daily_nanos INTEGER CHECK (end_user_daily_nanos >= 0);
ALTER TABLE holds ADD COLUMN end_user TEXT;

CREATE TABLE end_user_days (
  key_id      TEXT NOT NULL REFERENCES keys (id),
  day         INTEGER NOT NULL,
  end_user    TEXT NOT NULL,
  spent_nanos INTEGER NOT NULL,
  requests    INTEGER NOT NULL,
  PRIMARY KEY (key_id, day, end_user)
) STRICT, WITHOUT ROWID;
