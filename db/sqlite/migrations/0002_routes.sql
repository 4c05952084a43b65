-- Several providers may serve one model. A model without hops is served by its own provider.
CREATE TABLE hops (
  model_id      TEXT NOT NULL REFERENCES models (id) ON DELETE CASCADE,
  provider      TEXT NOT NULL REFERENCES providers (name) ON DELETE CASCADE,
  upstream_name TEXT NOT NULL,
  position      INTEGER NOT NULL CHECK (position > 0),
  weight        INTEGER NOT NULL CHECK (weight > 0),
  PRIMARY KEY (model_id, provider)
) STRICT, WITHOUT ROWID;

-- What a receipt tells beyond the line: attempts that failed (a JSON list; null when none did), what they cost the operator,
-- what the provider says that the answer cost, and which picture was charged.
ALTER TABLE activity ADD COLUMN failed_attempts TEXT CHECK (json_valid(failed_attempts));
ALTER TABLE activity ADD COLUMN operator_cost_nanos INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN stated_cost_nanos INTEGER;
ALTER TABLE activity ADD COLUMN image_resolution TEXT;
ALTER TABLE activity ADD COLUMN image_quality TEXT;
