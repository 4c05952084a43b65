/** The signals that stop a server: asked once it drains, asked again it cuts and charges, and a third time it just ends. */
import { readFileSync } from 'node:fs'

export interface Stopping {
  readonly asked: Promise<void>
  /** What is in progress is not to be waited for. */
  readonly askedAgain: Promise<void>
}

/** From the third signal on the system ends the process at once; holds are then resolved at the next start. */
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

/** Not under `nohup`, which has it ignored: to listen for it would undo that. Elsewhere than on Linux nobody can tell. */
function isHangUpOurs(): boolean {
  try {
    const ignored = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    return ignored !== undefined && (BigInt(`0x${ignored}`) & 1n) === 0n
  } catch {
    return false
  }
}
