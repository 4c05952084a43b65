/** Synonyms from other programs, for suggestions. */

const NOUNS: Readonly<Record<string, string>> = {
  log: 'activity',
  logs: 'activity tail',
  requests: 'activity',
  ps: 'status',
  kill: 'activity kill',
  run: 'serve',
  start: 'serve',
  top: 'dashboard',
  ui: 'dashboard',
  tui: 'dashboard',
  cost: 'usage',
  costs: 'usage',
  credits: 'balance',
  topup: 'balance top-up',
  'top-up': 'balance top-up',
  tail: 'activity tail',
  people: 'users',
  apps: 'clients',
  restore: 'backup',
  upstreams: 'providers',
  version: '--version',
}

/** The first one that the noun has is suggested. */
const VERBS: Readonly<Record<string, readonly string[]>> = {
  add: ['create', 'top-up'],
  new: ['create', 'add'],
  create: ['add'],
  delete: ['revoke', 'remove'],
  rm: ['revoke', 'remove'],
  del: ['revoke', 'remove'],
  end: ['kill'],
  stop: ['kill'],
  cancel: ['kill'],
  remove: ['revoke'],
  revoke: ['remove'],
  get: ['show'],
  describe: ['show'],
  view: ['show'],
  info: ['show'],
  ls: ['list'],
  update: ['edit', 'set'],
  mv: ['rename'],
  change: ['edit', 'set'],
  logs: ['tail'],
  follow: ['tail'],
}

export const nounFor = (word: string): string | undefined =>
  Object.hasOwn(NOUNS, word) ? NOUNS[word] : undefined

export const verbFor = (word: string, verbs: readonly string[]): string | undefined =>
  Object.hasOwn(VERBS, word) ? VERBS[word]?.find((verb) => verbs.includes(verb)) : undefined
