-- The events of one account, for its people: newest first, however many those of others are.
CREATE INDEX events_of_account ON events (json_extract(body, '$.data.account_id'), id);
