-- Tokens of pictures in a prompt, where a provider tells them apart: some cost another price than text.
ALTER TABLE activity ADD COLUMN image_input_tokens INTEGER NOT NULL DEFAULT 0;
