-- A route belongs to a pattern: a model, with which it goes, or a mask of several.
ALTER TABLE hops RENAME TO model_hops;
CREATE TABLE routes (
  pattern  TEXT PRIMARY KEY,
  model_id TEXT UNIQUE REFERENCES models (id) ON DELETE CASCADE,
  ordering TEXT NOT NULL CHECK (ordering IN ('weight', 'latency'))
) STRICT, WITHOUT ROWID;
-- Without a provider: each model's own.
CREATE TABLE hops (
  pattern       TEXT NOT NULL REFERENCES routes (pattern) ON DELETE CASCADE,
  provider      TEXT REFERENCES providers (name) ON DELETE CASCADE,
  upstream_name TEXT NOT NULL,
  position      INTEGER NOT NULL CHECK (position > 0),
  weight        INTEGER NOT NULL CHECK (weight > 0),
  UNIQUE (pattern, provider)
) STRICT;
INSERT INTO routes SELECT DISTINCT model_id, model_id, 'weight' FROM model_hops;
INSERT INTO hops SELECT model_id, provider, upstream_name, position, weight FROM model_hops;
DROP TABLE model_hops;
