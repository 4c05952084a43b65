-- The catalogue has a version, which rises with every change; a provider's revision is the one that last changed it.
CREATE TABLE catalogue_version (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  version INTEGER NOT NULL
) STRICT;
INSERT INTO catalogue_version VALUES (1, 1);
ALTER TABLE providers ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
