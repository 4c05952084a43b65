/** Every price that lines of the log were charged by: there are few, each of many requests. */
import type { PriceVersion } from '#domain/model-card.ts'
import { toVersion } from '../rows/catalogue-rows.ts'
import type { VersionOf } from '../rows/served-line.ts'
import { all, type Statements } from '../statements.ts'

export function* readVersions(): Statements<VersionOf> {
  const rows = yield* all<Parameters<typeof toVersion>[0]>(
    'SELECT id, effective_from AS "effectiveFrom", prices FROM price_versions',
  )
  const versions = new Map<unknown, PriceVersion>(rows.map((row) => [row.id, toVersion(row)]))
  return (id) => versions.get(id) ?? null
}
