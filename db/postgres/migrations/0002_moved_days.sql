-- What an account was charged on a day is what its keys have spent on it and this: what it has paid for keys that have been moved
-- away since, less what those that came in had spent before. Only a move writes here, and a request that it overtakes.
CREATE TABLE moved_days (
  account_id  text COLLATE "C" NOT NULL REFERENCES accounts (id),
  day         bigint NOT NULL,
  spent_nanos bigint NOT NULL,
  requests    bigint NOT NULL,
  PRIMARY KEY (account_id, day)
);

-- Of the keys that were moved before: the ledger is read only where there are any. It has charges alone, so what was free of their
-- requests stays with the account that they are in.
INSERT INTO moved_days (account_id, day, spent_nanos, requests)
SELECT CASE side.sign WHEN 1 THEN l.account_id ELSE k.account_id END, l.day, sum(-l.amount_nanos * side.sign)::bigint, sum(side.sign)
FROM ledger l JOIN keys k ON k.id = l.key_id AND k.account_id <> l.account_id CROSS JOIN (VALUES (1), (-1)) AS side (sign)
WHERE l.kind = 'charge' AND EXISTS (SELECT 1 FROM acts WHERE verb = 'accounts.move-key') GROUP BY 1, 2;
UPDATE account_state SET summed = false;
