-- The node that a request came to, of several that share a store: kept where they are moved here. Null where one process has the store.
ALTER TABLE activity ADD COLUMN node TEXT;
