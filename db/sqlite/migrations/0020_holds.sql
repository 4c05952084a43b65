-- What was held for a request, and the bound that its answer was lowered to: a charge beyond its hold is told by them.
ALTER TABLE activity ADD COLUMN hold_nanos INTEGER;
ALTER TABLE activity ADD COLUMN lowered_bound INTEGER;

-- Few or none: the audit names them without reading the whole log.
CREATE INDEX activity_beyond_hold ON activity (started_at) WHERE cost_nanos > hold_nanos;
