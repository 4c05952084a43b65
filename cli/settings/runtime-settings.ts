/** What the runtime reads at its own start alone: where `serve` needs it otherwise, the process starts again, once. */
import type { Context } from '../context.ts'

const PROXIES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'].flatMap((name) => [
  name,
  name.toLowerCase(),
])

/** Through a proxy requests go by fetch, which runs 256 at once unless it is told otherwise. */
const AT_ONCE = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
const MOST_AT_ONCE = '20000'

/** Starts the process again where a setting is missing; what the operator has set stays. Elsewhere it returns. */
export function settleRuntime({ env }: Context): void {
  if (env[AT_ONCE] !== undefined || PROXIES.every((name) => !env[name])) return
  if (!process.execve) return
  const [, script = '', ...args] = process.argv
  const isCompiled = script.startsWith('/$bunfs/')
  process.execve(process.execPath, [process.execPath, ...(isCompiled ? [] : [script]), ...args], {
    ...process.env,
    [AT_ONCE]: MOST_AT_ONCE,
  })
}
