-- What a model does, and of one that embeds the space of its vectors; and the search units that ranking documents took.
ALTER TABLE models ADD COLUMN kind TEXT NOT NULL DEFAULT 'generate' CHECK (kind IN ('generate', 'embed', 'rerank'));
ALTER TABLE models ADD COLUMN embedding_space TEXT;
ALTER TABLE activity ADD COLUMN search_units INTEGER NOT NULL DEFAULT 0;
