-- The last time that the gateway believed its clock: what it deletes for its age is older. No row before the first sweep.
CREATE TABLE steady_time (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  at  INTEGER NOT NULL
) STRICT;
