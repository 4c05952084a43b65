-- What an account was charged on a day is what its keys have spent on it and this: what it has paid for keys that have been moved
-- away since, less what those that came in had spent before. Only a move writes here, and a request that it overtakes.
CREATE TABLE moved_days (
  account_id  TEXT NOT NULL REFERENCES accounts (id),
  day         INTEGER NOT NULL,
  spent_nanos INTEGER NOT NULL,
  requests    INTEGER NOT NULL,
  PRIMARY KEY (day, account_id)
) STRICT, WITHOUT ROWID;

-- Of the keys that were moved before: the ledger is read only where there are any. It has charges alone, so what was free of their
-- requests stays with the account that they are in.
INSERT INTO moved_days (account_id, day, spent_nanos, requests)
SELECT iif(side.sign = 1, ledger.account_id, keys.account_id), day, sum(-amount_nanos * side.sign), sum(side.sign)
FROM ledger JOIN keys ON keys.id = ledger.key_id AND keys.account_id <> ledger.account_id
JOIN (SELECT 1 AS sign UNION ALL SELECT -1) AS side
WHERE ledger.kind = 'charge' AND EXISTS (SELECT 1 FROM acts WHERE verb = 'accounts.move-key')
GROUP BY 1, 2;
