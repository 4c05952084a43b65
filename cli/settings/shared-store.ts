/** A store that several nodes share: the address of its PostgreSQL, and the name of this node. */
import { type Address, readAddress } from '#db/postgres/engine/address.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { os } from '../os.ts'
import { readConfigFile } from './config-file.ts'
import { findSetting } from './find-setting.ts'
import { credentialFile, readSettingFile } from './setting-file.ts'

export interface SharedStore {
  readonly address: Address
  readonly node: string
}

const PASSWORD_VARIABLE = 'GATEWAY_STORE_PASSWORD_FILE'
const CREDENTIAL = 'store-password'

/** By the configuration file of the command, which is one for all that ask. */
const known = new WeakMap<Context['configFile'], SharedStore | null>()

/**
 * Null where the store is in the data directory. Read once, because a pipe can be read only once.
 * @throws CommandError 2 for a bad value, 1 for an unreadable file; never with the password
 */
export function readSharedStore(context: Context): SharedStore | null {
  const before = known.get(context.configFile)
  if (before !== undefined) return before
  const shared = findSharedStore(context)
  known.set(context.configFile, shared)
  return shared
}

function findSharedStore(context: Context): SharedStore | null {
  const { env } = context
  const file = readConfigFile(context)
  const found = findSetting(env, file, 'store')
  if (found === undefined) return null
  return {
    address: readStoreAddress(context, found.name, found.text),
    node: readNode(findSetting(env, file, 'node')),
  }
}

/** `name`: of the setting, or the flag. @throws CommandError 2, 1 for an unreadable file; never with the password */
export function readStoreAddress(context: Context, name: string, text: string): Address {
  const address = readOrRefuse(name, text)
  const password = readPassword(context) ?? address.password
  const { tls, rootCertificate } = address
  return {
    ...address,
    ...(password === undefined ? {} : { password }),
    ...(rootCertificate && typeof tls === 'object'
      ? { tls: { ...tls, ca: readSettingFile(rootCertificate, 'sslrootcert') } }
      : {}),
  }
}

/** The directory that the store is in; null where it is in none. */
export const ownDirectoryOf = (context: Context): string | null =>
  readSharedStore(context) === null ? context.dataDir : null

function readOrRefuse(name: string, text: string): Address {
  try {
    return readAddress(text)
  } catch (cause) {
    throw usageError(`${name} ${cause instanceof Error ? cause.message : ''}`)
  }
}

/** A file that is named, else what systemd hands over. */
function readPassword({ env }: Context): string | undefined {
  const named = env[PASSWORD_VARIABLE]
  if (named) return readSettingFile(named, PASSWORD_VARIABLE).trim()
  const handed = credentialFile(env, CREDENTIAL)
  return handed && readSettingFile(handed, CREDENTIAL).trim()
}

function readNode(found: ReturnType<typeof findSetting>): string {
  const text = found?.text ?? os().hostname()
  if (/^[\w][\w.-]{0,62}$/.test(text)) return text
  throw usageError(
    `${found?.name ?? 'the name of this machine'} must be letters, digits, dots and hyphens, at most 63 (got "${text}")`,
    'GATEWAY_NODE=node-1',
  )
}
