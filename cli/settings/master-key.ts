/** The master key: 32 bytes that encrypt providers' credentials; from systemd, a variable, or a file of its own. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE_FILE } from '#db/file-name.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT } from '../exit.ts'
import { denied, fileExists, isDenied } from '../gateway/access.ts'
import { credentialFile } from './setting-file.ts'

const KEY_BYTES = 32
const FILE_NAME = 'master.key'

/**
 * Reads the key from the first source that exists: systemd's credentials, `GATEWAY_MASTER_KEY_FILE`, `GATEWAY_MASTER_KEY`,
 * `master.key` in the data directory, which `create` makes. Null when there is none.
 */
export function readMasterKey(
  { env, dataDir }: Context,
  { create }: { readonly create: boolean },
): Uint8Array | null {
  const handed = credentialFile(env, FILE_NAME)
  if (handed !== undefined) return readKeyFile(handed, dataDir)
  const named = env['GATEWAY_MASTER_KEY_FILE']
  if (named) return readKeyFile(named, dataDir)
  const text = env['GATEWAY_MASTER_KEY']
  if (text) return decode(text, 'GATEWAY_MASTER_KEY', dataDir)
  const own = join(dataDir, FILE_NAME)
  if (fileExists(own)) return readKeyFile(own, dataDir)
  return create ? makeKeyFile(own) : null
}

function readKeyFile(path: string, dataDir: string): Uint8Array {
  if (!fileExists(path)) throw wrong(`no such master key file: ${path}`, dataDir)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    if (isDenied(cause)) throw denied(path)
    throw wrong(
      `cannot read the master key ${path}: ${cause instanceof Error ? cause.message : String(cause)}`,
      dataDir,
    )
  }
  return decode(text, path, dataDir)
}

function makeKeyFile(path: string): Uint8Array {
  const key = crypto.getRandomValues(new Uint8Array(KEY_BYTES))
  writeFileSync(path, `${Buffer.from(key).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
  return key
}

/** 32 bytes as 64 hexadecimal digits or as base64, in either alphabet. */
function decode(text: string, place: string, dataDir: string): Uint8Array {
  const plain = text.trim()
  const isHex = /^[0-9a-f]{64}$/i.test(plain)
  const key = Buffer.from(plain, isHex ? 'hex' : 'base64')
  if (key.length === KEY_BYTES && (isHex || /^[A-Za-z0-9+/_-]+=*$/.test(plain))) return key
  throw wrong(`${place} does not hold a master key: 32 bytes in base64 or hexadecimal`, dataDir)
}

/** Suggests a new key only for a new gateway: it cannot decrypt existing credentials. */
const wrong = (message: string, dataDir: string): CommandError =>
  new CommandError(
    'master_key',
    EXIT.failed,
    message,
    existsSync(join(dataDir, DATABASE_FILE))
      ? 'restore the master key that encrypted the credentials; a new one cannot decrypt them'
      : 'head -c 32 /dev/urandom | base64',
  )
