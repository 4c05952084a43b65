-- How the bound of an answer is spelled for a provider: as the operator states it, and as its refusals have taught.
ALTER TABLE providers ADD COLUMN output_bound TEXT
  CHECK (output_bound IN ('max_tokens', 'max_completion_tokens', 'both', 'none'));
ALTER TABLE providers ADD COLUMN learned_bound TEXT CHECK (learned_bound IN ('max_tokens', 'max_completion_tokens'));
