/** Settings that the runtime reads only at start-up: where `serve` needs other values, it re-executes itself once. */
import type { Context } from '../context.ts'

const PROXIES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'].flatMap((name) => [
  name,
  name.toLowerCase(),
])

/** Requests through a proxy use fetch, which by default runs at most 256 at once. */
const AT_ONCE = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
const MAX_AT_ONCE = '20000'

/** Re-executes the process where a setting is missing; a value set by the operator stays. */
export function settleRuntime({ env }: Context): void {
  if (env[AT_ONCE] !== undefined || PROXIES.every((name) => !env[name])) return
  if (!process.execve) return
  const [, script = '', ...args] = process.argv
  const isCompiled = script.startsWith('/$bunfs/')
  process.execve(process.execPath, [process.execPath, ...(isCompiled ? [] : [script]), ...args], {
    ...process.env,
    [AT_ONCE]: MAX_AT_ONCE,
  })
}
