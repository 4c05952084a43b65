/** The order of the files: the long ones begin first, so that the end is not one file that waits. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** In turn one that waits (for kills, deadlines, another node) and one that computes, each longest first: what waits leaves the processors to others. */
const LONGEST = [
  'db/postgres-nodes.test.ts',
  'db/sqlite.test.ts',
  'acceptance/takeover.test.ts',
  'cli/json.test.ts',
  'acceptance/signin/logouts.test.ts',
  'acceptance/cabinet/month.test.ts',
  'cli/serve.test.ts',
  'acceptance/documented/documented.test.ts',
  'acceptance/nodes.test.ts',
  'scripts/simulate.test.ts',
  'acceptance/retention.test.ts',
  'db/move.test.ts',
  'server/admin-socket.test.ts',
  'acceptance/faults/damage-sweep.test.ts',
  'acceptance/faults/moved.test.ts',
  'acceptance/troubles.test.ts',
  'cabinet/matrix.test.ts',
  'cabinet/idle.test.ts',
  'server/fault-matrix/fault-matrix.test.ts',
  'signin/pages/browser.test.ts',
  'db/lock.test.ts',
  'notify/courier.test.ts',
  'acceptance/signin/mail-code.test.ts',
  'cli/starting.test.ts',
  'acceptance/contract-codes/contract-codes.test.ts',
  'db/clock-steps.test.ts',
  'acceptance/signin/conformance/basic-codes.test.ts',
  'acceptance/signin/conformance/basic-questions.test.ts',
  'acceptance/signin/conformance/basic-answers.test.ts',
  'acceptance/signin/conformance/form-post-answers.test.ts',
  'acceptance/messages/messages.test.ts',
  'db/interleavings.test.ts',
  'acceptance/notices.test.ts',
  'acceptance/account-scope.test.ts',
  'acceptance/account-columns.test.ts',
  'cli/commands.test.ts',
  'db/postgres-waits.test.ts',
  'acceptance/move.test.ts',
  'acceptance/routes.test.ts',
  'acceptance/release/release.test.ts',
  'telemetry/traces.test.ts',
  'acceptance/signin/browser.test.ts',
  'server/code-mailer.test.ts',
  'acceptance/signin/passkeys.test.ts',
  'db/postgres-tls.test.ts',
  'signin/identities/flow.test.ts',
  'server/listener.test.ts',
  'acceptance/reconcile/reconcile.test.ts',
  'acceptance/faults/disk.test.ts',
  // At full size.
  'acceptance/dashboard.test.ts',
  'db/postgres-rules.test.ts',
  'acceptance/cabinet/browser.test.ts',
  'acceptance/drain.test.ts',
  'db/postgres.test.ts',
  'cli/signin-commands.test.ts',
  'cli/completion.test.ts',
  'acceptance/memory.test.ts',
  'acceptance/aliases.test.ts',
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
