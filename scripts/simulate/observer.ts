/** What really happened to one key, as seen by an observer outside of all nodes. */

/** A key's limits: so many requests in any minute, and so much spent or held. Money in millionths of a dollar. */
export interface Limits {
  readonly rpm: number
  readonly ceilingMicros: number
}

export interface Claim {
  readonly node: number
  readonly holdMicros: number
  readonly costMicros: number
  readonly lastsMs: number
}

const MINUTE_MS = 60_000

export interface Observer {
  /** Whether a single exact gateway would have let it through now. */
  hasRoom(claim: Claim, nowMs: number): boolean
  admitted(claim: Claim, nowMs: number): void
  settled(claim: Claim): void
  refused(claim: Claim, nowMs: number): void
  readonly figures: Figures
}

export interface Figures {
  admitted: number
  refused: number
  /** Refused although there was room. */
  wronglyRefused: number
  /** The most requests that any minute held beyond the limit. */
  mostOverRpm: number
  /** The most that was spent beyond the ceiling. */
  mostOverMicros: number
}

export function startObserver(limits: Limits): Observer {
  let window: number[] = []
  let head = 0
  let spentMicros = 0
  let heldMicros = 0
  const figures: Figures = {
    admitted: 0,
    refused: 0,
    wronglyRefused: 0,
    mostOverRpm: 0,
    mostOverMicros: 0,
  }

  const inWindow = (nowMs: number): number => {
    while (head < window.length && (window[head] ?? 0) + MINUTE_MS <= nowMs) head++
    if (head > 10_000) {
      window = window.slice(head)
      head = 0
    }
    return window.length - head
  }
  const hasRoom = ({ holdMicros }: Claim, nowMs: number): boolean =>
    inWindow(nowMs) < limits.rpm && spentMicros + heldMicros + holdMicros <= limits.ceilingMicros

  return {
    hasRoom,
    admitted({ holdMicros }, nowMs) {
      figures.admitted++
      window.push(nowMs)
      heldMicros += holdMicros
      figures.mostOverRpm = Math.max(figures.mostOverRpm, inWindow(nowMs) - limits.rpm)
    },
    settled({ holdMicros, costMicros }) {
      heldMicros -= holdMicros
      spentMicros += costMicros
      const over = spentMicros - limits.ceilingMicros
      figures.mostOverMicros = Math.max(figures.mostOverMicros, over)
    },
    refused(claim, nowMs) {
      figures.refused++
      if (hasRoom(claim, nowMs)) figures.wronglyRefused++
    },
    figures,
  }
}
