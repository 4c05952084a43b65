-- When people and clients were last revoked, in the order of all revocations: `n` counts them. What was begun when there were
-- fewer is refused for that person or client. Rows are never deleted, so that no number is used twice.
CREATE TABLE revocations (
  subject TEXT PRIMARY KEY,
  n       INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;

-- How many revocations there were when the sign-in began that the artifact belongs to.
ALTER TABLE artifacts ADD COLUMN revocations INTEGER NOT NULL DEFAULT 0;
