-- Whether an application's ID tokens say who the person is, beside `sub`.
ALTER TABLE clients ADD COLUMN id_token_claims INTEGER NOT NULL DEFAULT 1;
