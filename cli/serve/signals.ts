/** Signals that stop a server: the first one drains, the second cuts requests and charges them, the third ends the process. */
import { readFileSync } from 'node:fs'

export interface Stopping {
  readonly asked: Promise<void>
  /** Requests in progress are no longer waited for. */
  readonly askedAgain: Promise<void>
}

/** The third signal ends the process at once; open holds are then resolved at the next start. */
export function listenForSignals(): Stopping {
  const signals: readonly NodeJS.Signals[] = isHangUpOurs()
    ? ['SIGTERM', 'SIGINT', 'SIGHUP']
    : ['SIGTERM', 'SIGINT']
  const asked = Promise.withResolvers<void>()
  const askedAgain = Promise.withResolvers<void>()
  let times = 0
  const onSignal = (): void => {
    times++
    asked.resolve()
    if (times === 1) return
    for (const signal of signals) process.off(signal, onSignal)
    askedAgain.resolve()
  }
  for (const signal of signals) process.on(signal, onSignal)
  return { asked: asked.promise, askedAgain: askedAgain.promise }
}

/** Whether to handle SIGHUP: not under `nohup`, which ignores it, as a handler would undo that. Only Linux shows this. */
function isHangUpOurs(): boolean {
  try {
    const ignored = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    return ignored !== undefined && (BigInt(`0x${ignored}`) & 1n) === 0n
  } catch {
    return false
  }
}
