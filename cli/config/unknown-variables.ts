/** Finds GATEWAY_* variables that no setting reads: a misspelt one would silently leave the default in force. */
import { nearest } from '#forms/nearest.ts'
import type { Environment } from '../context.ts'
import { NAMES } from '../settings/config-file.ts'
import { variableOf } from '../settings/find-setting.ts'

/** Variables that have no setting in the file. */
const OTHERS = [
  'GATEWAY_ADMIN_SOCKET',
  'GATEWAY_ALLOW_LOOPBACK_WEBHOOKS',
  'GATEWAY_ASCII',
  'GATEWAY_CONFIG',
  'GATEWAY_DATA_DIR',
  'GATEWAY_MASTER_KEY',
  'GATEWAY_MASTER_KEY_FILE',
  'GATEWAY_METRICS_TOKEN',
  'GATEWAY_NO_INPUT',
  'GATEWAY_SMTP_URL_FILE',
  'GATEWAY_STORE_PASSWORD_FILE',
]

/** Every variable of ours. */
export const VARIABLES: readonly string[] = [...NAMES.map(variableOf), ...OTHERS]

/** A line for each, with a suggestion. */
export const describeUnknown = (env: Environment): readonly string[] =>
  Object.keys(env)
    .filter((name) => name.startsWith('GATEWAY_') && env[name] !== '' && !VARIABLES.includes(name))
    .toSorted()
    .map((name) => {
      const meant = nearest(name, VARIABLES)
      return `${name} is set, but there is no such setting${meant ? `; did you mean ${meant}?` : ''}`
    })
