-- Limits of an account, in the form of a key's; and when it was closed.
ALTER TABLE accounts ADD COLUMN limits TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(limits));
ALTER TABLE accounts ADD COLUMN closed_at INTEGER;
