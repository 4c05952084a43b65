/**
 * The nouns whose commands act on the things of an account: `--account` binds all that they name and show. The others concern
 * the whole gateway and refuse the flag, so that it is never ignored.
 */
export const OF_ACCOUNT: ReadonlySet<string> = new Set([
  'activity',
  'balance',
  'dashboard',
  'deliveries',
  'keys',
  'ledger',
  'limits',
  'status',
  'thresholds',
  'usage',
  'users',
  'why',
])
