/** What the runtime reads at its own start alone: where `serve` needs it otherwise, the process starts again, once. */
import type { Context } from './context.ts'

type Settings = Readonly<Record<string, string>>

const PROXIES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'].flatMap((name) => [
  name,
  name.toLowerCase(),
])

/** Through a proxy requests go by fetch, which runs 256 at once unless it is told otherwise. */
const BEHIND_A_PROXY: Settings = { BUN_CONFIG_MAX_HTTP_REQUESTS: '20000' }

/**
 * A collector that works beside the requests has no core to do so on, and takes its turns from them: collecting in one go
 * saves a request 4 to 10 % of its CPU.
 */
const ON_ONE_CORE: Settings = { BUN_JSC_useConcurrentGC: '0' }

/** Starts the process again where a setting is missing; what the operator has set stays. Elsewhere it returns. */
export function settleRuntime({ env }: Context): void {
  if (!process.execve) return
  const wanted = {
    ...(PROXIES.some((name) => env[name]) && BEHIND_A_PROXY),
    ...(navigator.hardwareConcurrency === 1 && ON_ONE_CORE),
  }
  if (Object.keys(wanted).every((name) => env[name] !== undefined)) return
  const [, script = '', ...args] = process.argv
  const isCompiled = script.startsWith('/$bunfs/')
  process.execve(process.execPath, [process.execPath, ...(isCompiled ? [] : [script]), ...args], {
    ...wanted,
    ...process.env,
  })
}
