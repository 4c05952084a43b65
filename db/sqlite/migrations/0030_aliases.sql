-- Another name of a model, which is removed with it.
CREATE TABLE aliases (
  name     TEXT PRIMARY KEY,
  model_id TEXT NOT NULL REFERENCES models (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX aliases_of ON aliases (model_id);
