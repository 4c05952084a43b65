-- Groups of people. One exists as long as somebody belongs to it.
CREATE TABLE person_groups (
  name      TEXT NOT NULL,
  person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
  PRIMARY KEY (name, person_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX person_groups_by_person ON person_groups (person_id);

-- Who may enter an application: groups, addresses and domains (a JSON list); null for everybody.
ALTER TABLE clients ADD COLUMN allowed TEXT CHECK (json_valid(allowed));
