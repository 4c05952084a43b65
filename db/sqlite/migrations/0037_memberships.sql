-- Who belongs to an account, and in which role. The account that a person was linked to until now is theirs as its owner.
CREATE TABLE memberships (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  person_id  TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  role       TEXT NOT NULL CHECK (role IN ('owner', 'member', 'viewer')),
  since      INTEGER NOT NULL,
  PRIMARY KEY (account_id, person_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX memberships_by_person ON memberships (person_id);

INSERT INTO memberships SELECT account_id, id, 'owner', created_at FROM people WHERE account_id IS NOT NULL;
ALTER TABLE people DROP COLUMN account_id;

-- The language that a person has chosen; null until then.
ALTER TABLE people ADD COLUMN language TEXT;

-- The person who made a key in the cabinet; null for an operator's. It outlives the person.
ALTER TABLE keys ADD COLUMN made_by TEXT;
-- What a member's own key may spend in a day at most; null for the usual amount.
ALTER TABLE accounts ADD COLUMN member_daily_nanos INTEGER;
