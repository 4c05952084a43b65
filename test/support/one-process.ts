/** What is about one process or its data directory, and is skipped where the suite runs over nodes (`GATEWAYCTL_NODES`). */

export const NODES = Number(process.env['GATEWAYCTL_NODES'] ?? 0)
export const isOverNodes = NODES > 0

/** Of `test/acceptance`, by what they are about. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  'the files of SQLite, which they read, write, damage or copy': [
    'audit',
    'backup',
    'exports',
    'faults/{damage,damage-sweep,damaged-log,disk,failing-disk,moved}',
    'hygiene',
    'log-checkpoint',
    'move',
    'reconcile/*',
    'retention',
    'schema',
    'signin/code-mail',
    'traps/{doors,leaks}',
    'troubles',
    'upgrade',
  ],
  'one process: its signals, clock, memory, descriptors, log lines and metrics': [
    'drain',
    'faults/{clock,descriptors}',
    'memory',
    'processes',
    'takeover',
    'telemetry',
  ],
  'what only the node of a request shows of its answer': [
    'dashboard',
    'documented/captures',
    'kill-request',
  ],
  'a demo, or documents and releases that start what they need': [
    'demo*',
    'documented/{documented,mentioned,proxies,settings,shown,snippets}',
    'release/*',
    'signin/start',
  ],
  'nodes, of which they have their own': ['nodes*', 'signin/nodes'],
}

/** Of the other files, by their names. */
const TESTS: Readonly<Record<string, readonly string[]>> = {
  'what each node counts for itself, and whom it serves next': [
    '32 at once for a key, and no more',
    'beyond 64 of a key it is refused at once',
    'is served in order of arrival',
    'several keys of one account share its requests',
    'the bodies of other keys take the memory',
  ],
  'what each node has learned of a provider, and remembers': [
    'W31: a null format is not sent on',
    'a provider that asks to be left alone rests',
    'stays with its provider among equal ones',
  ],
  'one process: its files, signals, clock and descriptors, and the names that completion reads in SQLite':
    [
      'also once the code has expired',
      'an alias is given, listed, moved and taken',
      'an expired code is refused',
      'during a shutdown',
      'finds no secret in any answer, log or file',
      'internal_error',
      'names are completed from the account stated',
      'no provider can be connected to',
      'no secret is in any answer, log or file',
      'the doctor finds nothing but a missing backup',
      'while no commit succeeds',
    ],
  'an answer that comes before the request has ended, which the balancer may lose': [
    'a key beyond 1 MiB',
    'gets nowhere by what is in the Authorization header',
  ],
}

export const ONE_PROCESS_FILES = Object.values(FILES)
  .flat()
  .map((name) => `test/acceptance/${name}.test.ts`)
/** Of every other test. */
export const OVER_NODES = new RegExp(`^(?!.*(?:${Object.values(TESTS).flat().join('|')}))`)
