-- By which of its provider's several credentials a request was asked; null where it has one, or none.
ALTER TABLE activity ADD COLUMN credential TEXT;
