-- Since when a log is whole: what ended before may have been removed. No row while nothing ever was.
CREATE TABLE kept_since (
  log   TEXT PRIMARY KEY,
  since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
