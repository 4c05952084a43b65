// Which processes and how many descriptors are worth a word.
import { expect, test } from 'vitest'
import { checkProcesses, judgeDescriptors } from '#operator/doctor/process.ts'
import { openOperator, serving } from './deps.ts'

test.each([
  [20, 65_536, 'ok'],
  [20, 4_096, 'ok'],
  [20, 1_024, 'warning'],
  [921, 1_024, 'warning'],
  [922, 1_024, 'problem'],
  [60_000, 65_536, 'problem'],
  [null, 65_536, 'problem'],
] as const)('%s of %s', (used, most, level) => {
  expect(judgeDescriptors(used, most)).toMatchObject({ level })
})

test('processes that do not answer are a problem', async () => {
  const deps = await openOperator()
  const levels = async (stuck: number) =>
    (await checkProcesses({ ...deps, live: serving({ stuckProcesses: () => stuck }) })).map(
      ({ level }) => level,
    )
  expect([await levels(0), await levels(2)]).toEqual([[], ['problem']])
})
