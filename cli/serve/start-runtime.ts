/** Readies the runtime for a process that serves. */

/** Not a socket on any machine, so the request fails locally. */
const NOWHERE = '/dev/null'

/**
 * Compiles hot code as early as the runtime does by itself, which the binary puts off for short commands (`scripts/compile.ts`), and
 * starts the thread of `fetch`. Bun starts it with the first fetch (webhooks, identity providers): with no descriptor left, which any
 * client can bring about, that crashes the process.
 */
export function startRuntime(): Promise<void> {
  Bun.unsafe.setJITPolicy(1)
  return fetch('http://nowhere/', { unix: NOWHERE }).then(
    () => {},
    () => {},
  )
}
