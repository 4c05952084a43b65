-- Applications that people sign in to on another screen.
ALTER TABLE clients ADD COLUMN for_devices INTEGER NOT NULL DEFAULT 0;
