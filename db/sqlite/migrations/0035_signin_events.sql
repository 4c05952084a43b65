-- Who signed in where, who was refused, and what people changed of their own access. The address of a person is in `people`.
CREATE TABLE signin_events (
  id        TEXT PRIMARY KEY,
  at        INTEGER NOT NULL,
  outcome   TEXT NOT NULL,
  method    TEXT,
  detail    TEXT,
  person_id TEXT,
  email     TEXT,
  client_id TEXT,
  address   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX signin_events_by_person ON signin_events (person_id, id) WHERE person_id IS NOT NULL;
CREATE INDEX signin_events_by_client ON signin_events (client_id, id) WHERE client_id IS NOT NULL;
