-- A request says to which surface it came, and of which session it is, as its client names that. Older ones came to the only one.
ALTER TABLE activity ADD COLUMN surface TEXT NOT NULL DEFAULT 'chat';
ALTER TABLE activity ADD COLUMN session TEXT;
ALTER TABLE holds ADD COLUMN surface TEXT NOT NULL DEFAULT 'chat';
ALTER TABLE holds ADD COLUMN session TEXT;
