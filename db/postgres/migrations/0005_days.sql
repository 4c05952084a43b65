-- The log by days. An id begins with the instant at which its request arrived: the day that it is in is that of its id, for good, and the id
-- alone stays unique. What was written before is one part, to the end of this day; what has no day is another.
ALTER TABLE activity RENAME TO activity_past;
ALTER INDEX activity_pkey RENAME TO activity_past_pkey;
ALTER INDEX activity_beyond_hold RENAME TO activity_past_beyond_hold;
CREATE TABLE activity (LIKE activity_past, PRIMARY KEY (generation_id)) PARTITION BY RANGE (generation_id);
CREATE INDEX activity_beyond_hold ON activity (started_at) WHERE cost_nanos > hold_nanos;
CREATE TABLE activity_other PARTITION OF activity DEFAULT;
DO $$
DECLARE
  day bigint := floor(extract(epoch FROM clock_timestamp()) / 86400);
  newest text := (SELECT max(generation_id) FROM activity_past);
  ends text;
BEGIN
  IF newest IS NULL THEN DROP TABLE activity_past; RETURN; END IF;
  LOOP
    day := day + 1;
    SELECT 'gen-' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', (day * 86400000 >> 5 * n & 31)::int + 1, 1), '' ORDER BY n DESC) INTO ends
      FROM generate_series(0, 9) n;
    EXIT WHEN newest < ends COLLATE "C";
  END LOOP;
  -- All of it is read, to see that no line is behind that, while who writes to it waits: some tenths of a second for a million lines.
  EXECUTE format('ALTER TABLE activity ATTACH PARTITION activity_past FOR VALUES FROM (MINVALUE) TO (%L)', ends);
END $$;
