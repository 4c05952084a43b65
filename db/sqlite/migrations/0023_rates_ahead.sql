-- Whether a rate was dated ahead when it was set: such a one stays when another is set, and takes effect on its date.
ALTER TABLE rates ADD COLUMN ahead INTEGER NOT NULL DEFAULT 0;
UPDATE rates SET ahead = 1 WHERE effective_from > unixepoch() * 1000;
