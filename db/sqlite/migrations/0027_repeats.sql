-- A hold also has the name by which its request may be repeated.
ALTER TABLE holds ADD COLUMN idempotency_key TEXT;
ALTER TABLE holds ADD COLUMN body_sha256 TEXT;

-- A charge shows its answer in its own transaction. Here are those that an older binary was charged for and died before it showed.
UPDATE OR IGNORE answers SET whole = 1 WHERE whole = 0
  AND EXISTS (SELECT 1 FROM ledger WHERE id = 'led_' || substr(answers.generation_id, 5))
  AND bytes = (SELECT coalesce(sum(length(body)), 0) FROM answer_pieces WHERE answer_id = answers.id);
CREATE INDEX answers_staged ON answers (id) WHERE whole = 0;
