-- How often an artifact was written: who writes it says which version was read.

ALTER TABLE artifacts ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
