-- A provider may have several credentials; that which was given with it is called `default`.
CREATE TABLE credentials (
  provider TEXT NOT NULL REFERENCES providers (name) ON DELETE CASCADE,
  name     TEXT NOT NULL,
  weight   INTEGER NOT NULL CHECK (weight > 0),
  sealed   TEXT NOT NULL,
  PRIMARY KEY (provider, name)
) STRICT, WITHOUT ROWID;
INSERT INTO credentials SELECT name, 'default', 1, sealed_credential FROM providers WHERE sealed_credential IS NOT NULL;
ALTER TABLE providers DROP COLUMN sealed_credential;
