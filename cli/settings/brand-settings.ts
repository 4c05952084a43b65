/** The operator's name, logo and colour: variable > file. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { Asset } from '#pages/assets.ts'
import type { Brand } from '#pages/brand.ts'
import type { Shades } from '#pages/shades.ts'
import type { Context, Environment } from '../context.ts'
import { usageError } from '../exit.ts'
import { fileFault } from '../file-fault.ts'
import { type ConfigFile, readConfigFile } from './config-file.ts'
import { type FoundSetting, findSetting } from './find-setting.ts'
import { unreadable } from './setting-file.ts'

/** Read by `serve` alone: a command needs no logo, and loads nothing of the pages. @throws CommandError 2 for a bad value, 1 for an unreadable file */
export async function readBrandSettings(context: Context): Promise<Brand> {
  const file = readConfigFile(context)
  const { env } = context
  const name = readBrandName(env, file)
  const logo = findSetting(env, file, 'brand.logo')
  const color = findSetting(env, file, 'brand.color')
  if (logo !== undefined && name === null) {
    throw usageError(
      `${logo.name} needs a name too, for those who do not see it`,
      'brand.name = "Example"',
    )
  }
  const { brandOf } = await import('#pages/brand.ts')
  return brandOf(
    name,
    logo ? await readLogoFile(logo) : null,
    color ? await readColor(color) : null,
  )
}

const MAX_NAME = 60

/** Also over mails. @throws CommandError 2 */
export function readBrandName(env: Environment, file: ConfigFile): string | null {
  const found = findSetting(env, file, 'brand.name')
  if (found === undefined) return null
  const name = found.text.trim()
  if (name !== '' && name.length <= MAX_NAME && !/\p{Cc}/u.test(name)) return name
  throw usageError(`${found.name} must be one line of 1 to ${MAX_NAME} characters`)
}

async function readColor({ name, text }: FoundSetting): Promise<Shades> {
  const { shadesOf } = await import('#pages/shades.ts')
  const shades = shadesOf(text)
  if (shades !== undefined) return shades
  throw usageError(`${name} must be a colour such as #1f544b (got "${text}")`)
}

const MAX_LOGO_KIB = 256

async function readLogoFile({ name, text: path }: FoundSetting): Promise<Asset> {
  const { readLogo } = await import('#pages/logo.ts')
  const bytes = readBytes(path, name)
  if (bytes.length > MAX_LOGO_KIB * 1024) {
    throw usageError(`${name} must be at most ${MAX_LOGO_KIB} KiB: ${path} is larger`)
  }
  const logo = readLogo(bytes)
  if (logo !== undefined) return logo
  throw usageError(
    `${name} must be a PNG, JPEG, WebP or SVG image, an SVG with its xmlns: ${path} is none`,
  )
}

/** At most a byte more than there may be; only of a regular file, because a pipe may never end. */
function readBytes(path: string, name: string): Uint8Array<ArrayBuffer> {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (cause) {
    throw unreadable(path, name, fileFault(cause))
  }
  try {
    if (!fstatSync(file).isFile()) throw unreadable(path, name, 'it is no file')
    const bytes = new Uint8Array(MAX_LOGO_KIB * 1024 + 1)
    return bytes.slice(0, readSync(file, bytes))
  } finally {
    closeSync(file)
  }
}
