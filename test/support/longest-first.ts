/** The order of the files: those that wait long begin first, so that the end is not one file that waits. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** By what they took at full size; all others take half a minute at most. */
const LONGEST = [
  'db/postgres-rules.test.ts',
  'acceptance/release/release.test.ts',
  'scripts/simulate.test.ts',
  'acceptance/faults/damage-sweep.test.ts',
  'acceptance/signin/applications/applications.test.ts',
  'db/postgres.test.ts',
  'acceptance/cabinet/month.test.ts',
  'db/clock-steps.test.ts',
  'db/interleavings.test.ts',
  'acceptance/takeover.test.ts',
  'acceptance/signin/browser.test.ts',
  'db/sqlite.test.ts',
  'acceptance/documented/snippets.test.ts',
  'db/on-disk.test.ts',
  'acceptance/cabinet/kill.test.ts',
  'acceptance/documented/documented.test.ts',
  'acceptance/reconcile/reconcile.test.ts',
  'signin/pages/browser.test.ts',
  'acceptance/troubles.test.ts',
  'acceptance/signin/passkeys.test.ts',
  'cli/serve.test.ts',
  'server/lookout.test.ts',
  'acceptance/dashboard.test.ts',
  'acceptance/stalled-reader.test.ts',
  'acceptance/cabinet/browser.test.ts',
  'acceptance/surfaces/mutations.test.ts',
  'acceptance/contract-codes/contract-codes.test.ts',
  'acceptance/routes.test.ts',
  'acceptance/nodes.test.ts',
  'acceptance/signin/documented.test.ts',
  'acceptance/processes.test.ts',
  'cabinet/matrix.test.ts',
  'acceptance/account-scope.test.ts',
  'acceptance/upgrade.test.ts',
  'db/postgres-nodes.test.ts',
  'acceptance/signin/logouts.test.ts',
  'acceptance/kill.test.ts',
  'acceptance/signin/mail-code.test.ts',
  'acceptance/account-columns.test.ts',
  'acceptance/notices.test.ts',
  'acceptance/exports.test.ts',
  'cli/json.test.ts',
  'db/front.test.ts',
  'acceptance/nodes-watched.test.ts',
  'acceptance/drain.test.ts',
  'db/kill.test.ts',
  'acceptance/signin/conformance/form-post-codes.test.ts',
  'acceptance/signin/conformance/basic-codes.test.ts',
  'acceptance/retention.test.ts',
  'acceptance/faults/disk.test.ts',
  'acceptance/memory.test.ts',
  'cli/commands.test.ts',
  'cli/signin-commands.test.ts',
  'cli/completion.test.ts',
  'acceptance/aliases.test.ts',
  'notify/courier.test.ts',
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
