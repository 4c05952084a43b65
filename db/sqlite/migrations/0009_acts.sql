-- What operators and provisioning keys changed, when and who: append-only, as the ledger is. No secret is ever in it.
CREATE TABLE acts (
  id      TEXT PRIMARY KEY,
  at      INTEGER NOT NULL,
  who     TEXT NOT NULL,
  verb    TEXT NOT NULL,
  target  TEXT,
  changed TEXT NOT NULL CHECK (json_valid(changed))
) STRICT, WITHOUT ROWID;

CREATE TRIGGER acts_are_append_only_update BEFORE UPDATE ON acts
BEGIN SELECT RAISE(ABORT, 'the log of acts is append-only'); END;
CREATE TRIGGER acts_are_append_only_delete BEFORE DELETE ON acts
BEGIN SELECT RAISE(ABORT, 'the log of acts is append-only'); END;
