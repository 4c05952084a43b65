-- What was held for a request, and the bound that its answer was lowered to: a charge beyond its hold is told by them.
ALTER TABLE activity ADD COLUMN hold_nanos INTEGER;
ALTER TABLE activity ADD COLUMN lowered_bound INTEGER;
