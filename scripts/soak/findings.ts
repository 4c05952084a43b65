/** Results of the soak: counts, answers whose charge must be in the ledger, and unexplained errors. */

export interface Findings {
  count(what: string, times?: number): void
  readonly counts: ReadonlyMap<string, number>
  /** Answers that came to their very last byte; true where the upstream counted, so that the cost is known. */
  readonly answers: ReadonlyMap<string, boolean>
  answered(generationId: string, isCounted: boolean): void
  /** References of top-ups that an operator was told are in. */
  readonly topUps: ReadonlySet<string>
  toppedUp(ref: string): void
  /** An error for which neither the plan nor a life's end is the reason. */
  unexplained(what: string): void
  readonly unexplainedErrors: readonly string[]
  /** A promise of the gateway that was broken. */
  violation(what: string): void
  readonly violations: readonly string[]
}

export function openFindings(): Findings {
  const counts = new Map<string, number>()
  const answers = new Map<string, boolean>()
  const topUps = new Set<string>()
  const unexplainedErrors: string[] = []
  const violations: string[] = []
  return {
    counts,
    answers,
    topUps,
    unexplainedErrors,
    violations,
    count: (what, times = 1) => void counts.set(what, (counts.get(what) ?? 0) + times),
    answered: (generationId, isCounted) => void answers.set(generationId, isCounted),
    toppedUp: (ref) => void topUps.add(ref),
    unexplained: (what) => void unexplainedErrors.push(what),
    violation(what) {
      violations.push(what)
      // At once: a soak may run for hours.
      console.log(`violation: ${what}`)
    },
  }
}
