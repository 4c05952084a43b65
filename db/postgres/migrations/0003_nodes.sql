-- The node that a request came to.
ALTER TABLE activity ADD COLUMN node text COLLATE "C";
