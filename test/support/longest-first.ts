/** The order of the files: those that wait long begin first, so that the end is not one file that waits. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** By what they take where nothing else runs; all others take some seconds at most. */
const LONGEST = [
  'db/postgres.test.ts',
  'db/postgres-rules.test.ts',
  'db/sqlite.test.ts',
  'acceptance/signin/conformance/codes.test.ts',
  'acceptance/signin/mail-code.test.ts',
  'acceptance/cabinet/month.test.ts',
  'acceptance/dashboard.test.ts',
  'cli/serve.test.ts',
  'acceptance/faults/disk.test.ts',
  'acceptance/contract-codes/contract-codes.test.ts',
  'acceptance/documented/documented.test.ts',
  'acceptance/low-balance.test.ts',
  'acceptance/retention.test.ts',
  'db/interleavings.test.ts',
  'server/admin-socket.test.ts',
  'acceptance/faults/damage.test.ts',
  'acceptance/faults/damage-sweep.test.ts',
  'cli/providers-add.test.ts',
  'acceptance/memory.test.ts',
  'acceptance/idempotency.test.ts',
  'cli/streams.test.ts',
  'db/on-disk.test.ts',
  'acceptance/notices.test.ts',
]

const place = ({ moduleId }: TestSpecification): number => {
  const at = LONGEST.findIndex((path) => moduleId.endsWith(`/test/${path}`))
  return at < 0 ? LONGEST.length : at
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => place(one) - place(other))
  }
}
