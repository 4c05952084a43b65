/** The operator's user name for the log of acts. */
import { readFileSync } from 'node:fs'
import type { Environment } from '../context.ts'

/** "uid 1000 (ann)"; "uid 0 (root) for ann" under sudo. */
export function operatorName(env: Environment): string {
  const uid = process.getuid?.()
  if (uid === undefined) return 'unknown'
  const name = nameOf(uid)
  const self = name === null ? `uid ${uid}` : `uid ${uid} (${name})`
  const behind = env['SUDO_USER']
  return behind && behind !== name ? `${self} for ${behind}` : self
}

/** From /etc/passwd: Bun's own function trusts the environment. Null for a user that is not in that file. */
function nameOf(uid: number): string | null {
  try {
    const users = readFileSync('/etc/passwd', 'utf8').split('\n')
    return (
      users.map((line) => line.split(':')).find((fields) => fields[2] === String(uid))?.[0] ?? null
    )
  } catch {
    return null
  }
}
