// How many descriptors are worth a word.
import { expect, test } from 'vitest'
import { judgeDescriptors } from '#operator/doctor/process.ts'

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
