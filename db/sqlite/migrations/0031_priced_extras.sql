-- What a vendor bills beside the usual prices: writes to a cache for an hour, calls of its tools (a JSON object of counts), and the
-- names of the factors in the price (a JSON list); both null for none.
ALTER TABLE activity ADD COLUMN cache_write_1h_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN server_calls TEXT;
ALTER TABLE activity ADD COLUMN modifiers TEXT;
