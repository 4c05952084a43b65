/** The order of the files: those that wait long begin first, so that the end is not one file that waits. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** By what they take where nothing else runs; all others take some seconds at most. */
const LONGEST = [
  'db/sqlite.test.ts',
  'db/postgres-nodes.test.ts',
  'cli/json.test.ts',
  'acceptance/nodes.test.ts',
  'acceptance/dashboard.test.ts',
  'acceptance/account-columns.test.ts',
  'cli/serve.test.ts',
  'acceptance/documented/documented.test.ts',
  'acceptance/cabinet/month.test.ts',
  'acceptance/signin/passkeys.test.ts',
  'scripts/simulate.test.ts',
  'acceptance/faults/damage-sweep.test.ts',
  'acceptance/release/release.test.ts',
  'db/postgres-rules.test.ts',
  'cabinet/matrix.test.ts',
  'signin/pages/browser.test.ts',
  'acceptance/signin/browser.test.ts',
  'acceptance/signin/logouts.test.ts',
  'acceptance/cabinet/browser.test.ts',
  'acceptance/routes.test.ts',
  'acceptance/drain.test.ts',
  'db/postgres.test.ts',
  'db/clock-steps.test.ts',
  'acceptance/retention.test.ts',
  'acceptance/contract-codes/contract-codes.test.ts',
  'acceptance/signin/mail-code.test.ts',
  'acceptance/faults/disk.test.ts',
  'acceptance/reconcile/reconcile.test.ts',
  'cli/commands.test.ts',
  'cli/signin-commands.test.ts',
  'cli/completion.test.ts',
  'acceptance/aliases.test.ts',
  'notify/courier.test.ts',
  'acceptance/troubles.test.ts',
  'acceptance/memory.test.ts',
  'db/interleavings.test.ts',
]

const place = ({ moduleId, project }: TestSpecification): number => {
  // Who comes in between ends a process that has loaded what the files share.
  if (project.name === 'apart') return -1
  const at = LONGEST.findIndex((path) => moduleId.endsWith(`/test/${path}`))
  return at < 0 ? LONGEST.length : at
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => place(one) - place(other))
  }
}
