-- What bounds an answer: a key's limit of tokens, and of a model where its bounds come from and how many images it may draw.
ALTER TABLE keys ADD COLUMN max_output_tokens INTEGER CHECK (max_output_tokens > 0);

-- Whether context and maximum are those of the catalogue that ships with the program, which this file cannot read: `serve` compares
-- the models of known vendors with it at its start.
ALTER TABLE models ADD COLUMN catalogued INTEGER NOT NULL DEFAULT 0;
UPDATE models SET catalogued = 1 WHERE provider IN (SELECT name FROM providers WHERE type = 'demo');
ALTER TABLE models ADD COLUMN images_per_answer INTEGER NOT NULL DEFAULT 1 CHECK (images_per_answer > 0);
