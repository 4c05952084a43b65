-- Mails with sign-in codes on their way, sealed with all they say; a row goes as soon as its mail has.
CREATE TABLE code_mails (
  interaction TEXT PRIMARY KEY,
  event_id    TEXT NOT NULL,
  sealed      TEXT NOT NULL,
  tries       INTEGER NOT NULL DEFAULT 0,
  next_try_at INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX code_mails_by_try ON code_mails (next_try_at);
