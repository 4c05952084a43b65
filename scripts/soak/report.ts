/** The report of a soak: counts, unexplained errors, and violations. */
import type { Findings } from './findings.ts'

const MAX_LISTED = 20

/** Prints; false when a promise was broken or an error stays unexplained. */
export function report({ counts, unexplainedErrors, violations }: Findings): boolean {
  console.log('\nseen')
  for (const [what, number] of [...counts].sort(([, a], [, b]) => b - a)) {
    console.log(`  ${String(number).padStart(8)}  ${what}`)
  }
  list('unexplained errors', unexplainedErrors)
  list('violations', violations)
  return unexplainedErrors.length === 0 && violations.length === 0
}

function list(what: string, lines: readonly string[]): void {
  console.log(`\n${what}: ${lines.length}`)
  for (const line of lines.slice(0, MAX_LISTED)) console.log(`  ${line}`)
  if (lines.length > MAX_LISTED) console.log(`  … and ${lines.length - MAX_LISTED} more`)
}
