-- Answers that were asked for with an Idempotency-Key, so that a retry is not paid for twice. Ids ascend and are never
-- used again. A row without `whole` is still being written, or was when its process died.
CREATE TABLE answers (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  key_id          TEXT NOT NULL REFERENCES keys (id),
  idempotency_key TEXT NOT NULL,
  body_sha256     TEXT NOT NULL,
  generation_id   TEXT NOT NULL,
  content_type    TEXT NOT NULL,
  bytes           INTEGER NOT NULL CHECK (bytes >= 0),
  created_at      INTEGER NOT NULL,
  whole           INTEGER NOT NULL CHECK (whole IN (0, 1))
) STRICT;

CREATE UNIQUE INDEX answers_by_name ON answers (key_id, idempotency_key) WHERE whole = 1;

-- A body in pieces: a large one written at once would stall every stream of the process.
CREATE TABLE answer_pieces (
  answer_id INTEGER NOT NULL REFERENCES answers (id) ON DELETE CASCADE,
  place     INTEGER NOT NULL,
  body      BLOB NOT NULL,
  PRIMARY KEY (answer_id, place)
) STRICT;
