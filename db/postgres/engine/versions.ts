/** The schema of this binary: what makes it, and whose nodes may serve from it beside those of this one. */
import { createHash } from 'node:crypto'
import functions from '../functions.sql' with { type: 'text' }
import initial from '../migrations/0001_initial.sql' with { type: 'text' }
import movedDays from '../migrations/0002_moved_days.sql' with { type: 'text' }
import nodes from '../migrations/0003_nodes.sql' with { type: 'text' }
import versions from '../migrations/0004_versions.sql' with { type: 'text' }
import days from '../migrations/0005_days.sql' with { type: 'text' }
import tokens from '../migrations/0006_tokens.sql' with { type: 'text' }
import rows from '../migrations/0007_rows.sql' with { type: 'text' }

export const MIGRATIONS: readonly string[] = [
  initial,
  movedDays,
  nodes,
  versions,
  days,
  tokens,
  rows,
]

/** Of the schema that this binary works with. */
export const NEWEST_VERSION = MIGRATIONS.length

/**
 * The oldest version whose nodes still find there all that they need. A release only adds, so that this is the newest of the release
 * before; what that one alone needs, the next release removes.
 */
export const SERVES_FROM = 4

/**
 * The schema of this binary's functions, by version and by what they say: those of others stay beside it, as the nodes of theirs call
 * them.
 */
export const FUNCTIONS = `gw${NEWEST_VERSION}_${createHash('sha256').update(functions).digest('hex').slice(0, 8)}`
/** What of its name, in a statement, is the version. */
export const VERSION_OF_FUNCTIONS = '^gw(\\d+)(?:_[0-9a-f]{8})?$'

/** Where statements find functions, and tables. */
export const SEARCH_PATH = `${FUNCTIONS},public`
