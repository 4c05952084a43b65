-- In which of OpenAI's wires a model answers, a JSON list; NULL: those of its provider's type.
ALTER TABLE models ADD COLUMN wires TEXT CHECK (json_valid(wires));
