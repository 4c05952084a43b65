/** The names of things, for a shell that completes them: read beside whoever serves, without a lock, and nothing else. */
import { Database } from 'bun:sqlite'
import { requireWholeLog } from './whole-log.ts'

/** What can be named on a command line. */
export type Named =
  | 'account'
  | 'alias'
  | 'client'
  | 'group'
  | 'identity'
  | 'key'
  | 'model'
  | 'person'
  | 'provider'

export interface Name {
  readonly value: string
  /** Shown beside it: a label, a type or another name. */
  readonly description: string
}

/** As many as a shell can show. */
const MAX_NAMES = 300

/** The account named or identified by ?2. */
const ACCOUNT = '(SELECT id FROM accounts WHERE name = ?2 OR id = ?2)'

const TABLES: Readonly<Record<Named, string>> = {
  account: 'SELECT name AS value, id AS description, created_at AS age FROM accounts',
  alias: 'SELECT name AS value, model_id AS description, 0 AS age FROM aliases',
  client: 'SELECT id AS value, name AS description, created_at AS age FROM clients',
  group: "SELECT DISTINCT name AS value, '' AS description, 0 AS age FROM person_groups",
  identity: 'SELECT name AS value, label AS description, created_at AS age FROM identity_providers',
  key: `SELECT name AS value, label AS description, created_at AS age FROM keys
    WHERE revoked_at IS NULL AND (?2 IS NULL OR account_id IN ${ACCOUNT})`,
  model: 'SELECT id AS value, name AS description, 0 AS age FROM models',
  person: `SELECT email AS value, coalesce(name, '') AS description, created_at AS age FROM people
    WHERE ?2 IS NULL OR id IN (SELECT person_id FROM memberships WHERE account_id IN ${ACCOUNT})`,
  provider: 'SELECT name AS value, type AS description, 0 AS age FROM providers',
}

/** Those that begin so, the newest first; keys and people of one account where one is given. Empty where nothing can be read: a shell waits for no explanation. */
export function readNames(
  path: string,
  what: Named,
  beginning: string,
  account: string | null,
): readonly Name[] {
  let database: Database | null = null
  try {
    requireWholeLog(path)
    database = new Database(path, { readonly: true, strict: true })
    return database
      .query<Name, (string | null)[]>(
        `SELECT value, description FROM (${TABLES[what]})
         WHERE substr(value, 1, length(?1)) = ?1 ORDER BY age DESC, value LIMIT ${MAX_NAMES}`,
      )
      .all(beginning, ...(TABLES[what].includes('?2') ? [account] : []))
  } catch {
    return []
  } finally {
    database?.close()
  }
}
