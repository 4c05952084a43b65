/** Lines of the log by the thousand, straight into the tables of a store that is open, as other requests would have written them. */
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import type { Instant } from '#domain/clock.ts'
import { generationsFrom } from '#domain/id.ts'

/** Of one key, which all arrived at one instant; the last has the highest id. Each names an end user of its own: "u1", "u2", … */
export function fillLog(dataDir: string, keyId: string, at: Instant, lines: number): void {
  const database = new Database(join(dataDir, 'gateway.db'), { strict: true })
  try {
    database
      .query(
        `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < $lines)
         INSERT INTO activity (generation_id, request_id, account_id, key_id, admitted, model, provider, end_user, stream,
           status, ended_by, started_at, admitted_at, total_ms, input_tokens, cache_read_tokens, cache_write_tokens,
           output_tokens, reasoning_tokens, image_output_tokens, input_images, output_images, usage_source, cost_nanos,
           cost_rub_micros)
         SELECT $time || printf('%016d', n), 'req_' || n, account_id, id, 1, 'demo/echo', 'demo', 'u' || n, 0,
           200, 'completed', $at, $at, 420, 10, 0, 0, 5, 0, 0, 0, 0, 'provider', 1000000, 90000
         FROM n, keys WHERE keys.id = $keyId`,
      )
      .run({ lines, keyId, at, time: generationsFrom(at) })
  } finally {
    database.close()
  }
}
