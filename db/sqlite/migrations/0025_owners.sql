-- A hold says whose it is, and has all that its end needs, so that another than its owner can end it.
ALTER TABLE holds ADD COLUMN node TEXT NOT NULL DEFAULT 'local';
ALTER TABLE holds ADD COLUMN epoch TEXT NOT NULL DEFAULT '';
ALTER TABLE holds ADD COLUMN day INTEGER NOT NULL DEFAULT 0;
-- The name that its end user is counted under.
ALTER TABLE holds ADD COLUMN counted_as TEXT;
UPDATE holds SET day = admitted_at / 86400000, counted_as = end_user;
