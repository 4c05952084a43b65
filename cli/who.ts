/** Who types, as far as the system knows: for the log of acts. */
import { userInfo } from 'node:os'
import type { Environment } from './context.ts'

/** "uid 1000 (ann)"; "uid 0 (root) for ann" under sudo. */
export function whoTypes(env: Environment): string {
  const uid = process.getuid?.()
  const name = nameOf()
  const self = uid === undefined ? (name ?? 'unknown') : `uid ${uid}${name ? ` (${name})` : ''}`
  const behind = env['SUDO_USER']
  return behind && behind !== name ? `${self} for ${behind}` : self
}

/** A container's user may have no name. */
function nameOf(): string | null {
  try {
    return userInfo().username
  } catch {
    return null
  }
}
