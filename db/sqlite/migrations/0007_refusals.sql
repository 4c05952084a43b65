-- What a refused request was told: which limit, its value, what was used, and when it lifts. No other line has it.
ALTER TABLE activity ADD COLUMN refusal TEXT
  CHECK (refusal IS NULL OR (json_valid(refusal) AND ended_by = 'refused'));
