/** How the database server does, for whoever looks after it. */
import type { ServerHealth } from '#domain/node.ts'
import type { Database } from './engine/database.ts'
import { keepTime } from './engine/store-time.ts'
import { FUNCTIONS } from './engine/versions.ts'

const SETTINGS = `
  SELECT current_setting('synchronous_commit') <> 'off' AS "isDurable", current_setting('synchronous_standby_names') AS named,
    (SELECT count(*) FROM pg_stat_replication WHERE coalesce(sync_state, 'sync') IN ('sync', 'quorum')) AS attached`

const OLDEST = `
  SELECT pid, usename AS who, (extract(epoch FROM clock_timestamp() - xact_start) * 1000)::bigint AS ms FROM pg_stat_activity
  WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid() ORDER BY xact_start LIMIT 1`

/** What is written once is changed by nobody, and the schema by its owner. */
const LACKING = `
  SELECT p || ' on ' || relname AS lacks FROM pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p
  WHERE relkind IN ('r', 'p') AND relname !~ '^activity_\\d+$' AND relnamespace = 'public'::regnamespace
    AND relowner = (SELECT relowner FROM pg_class WHERE oid = 'schema_version'::regclass) AND NOT has_table_privilege(c.oid, p)
    AND NOT (relname IN ('ledger', 'acts') AND p IN ('UPDATE', 'DELETE')) AND (relname <> 'schema_version' OR p = 'SELECT')
  UNION ALL
  SELECT 'EXECUTE on ' || proname FROM pg_proc f
  WHERE pronamespace = '${FUNCTIONS}'::regnamespace AND NOT has_function_privilege(f.oid, 'EXECUTE')
  UNION ALL SELECT 'USAGE on ${FUNCTIONS}' WHERE NOT has_schema_privilege('${FUNCTIONS}', 'USAGE')
  UNION ALL SELECT 'TEMPORARY on the database' WHERE NOT has_database_privilege(current_database(), 'TEMPORARY')`

export async function readServer(database: Database): Promise<ServerHealth> {
  const aheadMs = await keepTime(database, database.clock)
  const settings =
    await database.get<Pick<ServerHealth, 'isDurable' | 'named' | 'attached'>>(SETTINGS)
  const lacking = await database.all<{ lacks: string }>(LACKING)
  return {
    onlyRead: database.onlyRead,
    ...(settings ?? { isDurable: true, named: '', attached: 0 }),
    oldest: await database.get<NonNullable<ServerHealth['oldest']>>(OLDEST),
    aheadMs,
    lacking: lacking.map(({ lacks }) => lacks),
  }
}
