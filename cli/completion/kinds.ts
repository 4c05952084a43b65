/** What completes an argument or flag: names of objects, files, or fixed words. */

import { DATABASE_FILE } from '#db/file-name.ts'
import type { Named } from '#db/sqlite/files/names.ts'
import { KEY_KINDS } from '#domain/key.ts'
import { ENTRY_KINDS } from '#domain/ledger.ts'
import { MODEL_KINDS } from '#domain/model-kind.ts'
import { CHANNELS, NOTICE_STATES } from '#domain/notice.ts'
import { OUTPUT_BOUNDS, PROVIDER_PRESETS } from '#domain/provider.ts'
import { USAGE_DIMENSIONS } from '#domain/usage-report.ts'
import { DIALECTS } from '#domain/work.ts'
import { IDENTITY_PROVIDER_TYPES } from '#signin/register/identity-provider.ts'
import { ROLES } from '#signin/register/membership.ts'

/** A mask is a model, or all models of a provider. */
export type Kind = Named | 'file' | 'mask'

/** By the placeholder in the help of a command. */
const BY_PLACEHOLDER: Readonly<Record<string, Kind>> = {
  account: 'account',
  alias: 'alias',
  key: 'key',
  model: 'model',
  mask: 'mask',
  client: 'client',
  group: 'group',
  person: 'person',
  provider: 'provider',
  file: 'file',
  dir: 'file',
}

/** By the name of the flag, where its placeholder is only `name` or `id`. */
const BY_FLAG: Readonly<Record<string, Kind>> = {
  account: 'account',
  model: 'model',
  provider: 'provider',
  config: 'file',
  'data-dir': 'file',
}

/** By the command, where its placeholder is only `name`; null where it names something new. */
const BY_COMMAND: Readonly<Record<string, Kind | null>> = {
  'accounts create': null,
  'accounts show': 'account',
  'identities show': 'identity',
  'identities edit': 'identity',
  'identities remove': 'identity',
  'models add': null,
  'providers show': 'provider',
  'providers edit': 'provider',
  'providers test': 'provider',
  'providers remove': 'provider',
}

/** Where on the line. */
export interface Place {
  readonly noun: string
  /** The flag without its dashes; for an argument, the words that name its command. */
  readonly name: string
  /** The placeholder in the help of the command. */
  readonly placeholder: string
}

/** Null where there is nothing to suggest. */
export function kindOf({ name, placeholder }: Place): Kind | null {
  const own = BY_COMMAND[name]
  return own !== undefined ? own : (BY_FLAG[name] ?? BY_PLACEHOLDER[placeholder] ?? null)
}

const TIMES = ['today', 'yesterday', 'month', '1h', '24h', '7d']

const VALUES: Readonly<Record<string, readonly string[]>> = {
  'completion shell': ['bash', 'zsh', 'fish', 'powershell'],
  'rates set pair': ['USD/RUB'],
  'thresholds test channel': CHANNELS,
  'accounts members act': ['list', 'add', 'set-role', 'remove'],
  'accounts role': ROLES,
  'notices test channel': CHANNELS,
  'notices wake': ['critical', 'nothing'],
  'notices at': ['80,100', 'none'],
  'users sessions act': ['list', 'end', 'revoke'],
  'users access act': ['list', 'withdraw'],
  'users passkeys act': ['list', 'remove'],
  'keys kind': KEY_KINDS,
  'keys sort': ['created', 'name', 'spend', 'last-used'],
  'ledger kind': ENTRY_KINDS,
  'activity status': ['2xx', '4xx', '5xx', '401', '402', '403', '429', '502'],
  'activity surface': DIALECTS,
  'clients pkce': ['required', 'optional'],
  'deliveries state': NOTICE_STATES,
  'deliveries redeliver channel': CHANNELS,
  'identities type': IDENTITY_PROVIDER_TYPES,
  'models kind': MODEL_KINDS,
  'models surface': DIALECTS,
  'usage by': USAGE_DIMENSIONS,
  'usage then-by': USAGE_DIMENSIONS,
  'providers type': Object.keys(PROVIDER_PRESETS).filter((type) => type !== 'demo'),
  'providers output-bound': [...OUTPUT_BOUNDS, 'auto'],
  'providers credentials act': ['list', 'add', 'remove'],
  'serve log': ['json', 'pretty'],
  'backup confirm': [DATABASE_FILE],
  'init confirm': [DATABASE_FILE],
  since: TIMES,
  until: TIMES,
  expires: ['30d', '90d', '365d', 'never'],
  grace: ['0', '1h', '24h', '7d'],
  rpm: ['none'],
  rpd: ['none'],
  concurrency: ['none'],
  'daily-usd': ['none'],
  'monthly-usd': ['none'],
}

/** The fixed words to choose from, if any. */
export const valuesOf = ({ noun, name, placeholder }: Place): readonly string[] =>
  VALUES[`${noun} ${name}`] ?? VALUES[name] ?? VALUES[`${name} ${placeholder}`] ?? []
