/** What is about one process or its data directory, and is skipped where the suite runs over nodes (`GATEWAYCTL_NODES`). */

export const NODES = Number(process.env['GATEWAYCTL_NODES'] ?? 0)
export const isOverNodes = NODES > 0

/** Of `test/acceptance`: about files and their damage, upgrades, memory, live views, `--processes`, demos, or written to by SQLite; or with nodes of their own. */
const FILES = [
  'audit',
  'backup',
  'cabinet/*',
  'dashboard',
  'demo*',
  'documented/*',
  'drain',
  'exports',
  'faults/*',
  'hygiene',
  'kill*',
  'log-checkpoint',
  'memory',
  'move',
  'nodes*',
  'notices',
  'processes',
  'reconcile/*',
  'release/*',
  'retention',
  'schema',
  'signin/{browser,code-mail,identities,nodes,passkeys,start}',
  'stalled-reader',
  'tail',
  'takeover',
  'telemetry',
  'traps/*',
  'troubles*',
  'upgrade',
]

/** Of the other files, by their names: what a node counts for itself. */
const TESTS = [
  '32 at once for a key, and no more',
  'W31: a null format is not sent on',
  'a key beyond 1 MiB',
  'a provider that asks to be left alone rests',
  'also once the code has expired',
  'an alias is given, listed, moved and taken',
  'an expired code is refused',
  'beyond 64 of a key it is refused at once',
  'during a shutdown',
  'finds no secret in any answer, log or file',
  'internal_error',
  'is served in order of arrival',
  'names are completed from the account stated',
  'no provider can be connected to',
  'no secret is in any answer, log or file',
  'several keys of one account share its requests',
  'stays with its provider among equal ones',
  'the bodies of other keys take the memory',
  'the doctor finds nothing but a missing backup',
  'while no commit succeeds',
]

export const ONE_PROCESS_FILES = FILES.map((name) => `test/acceptance/${name}.test.ts`)
/** Of every other test. */
export const OVER_NODES = new RegExp(`^(?!.*(?:${TESTS.join('|')}))`)
