// What was spent, as a screen and as a file: both have all of it, however many groups there are.
import { expect, onTestFinished, test } from 'vitest'
import { HOUR_MS, later } from '#domain/clock.ts'
import { MAX_USAGE_GROUPS } from '#domain/usage-report.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { fillLog } from './fill-log.ts'
import { openHouse } from './house.ts'

test('a file has a line for each group, and one for all that are beyond them', async () => {
  const dataDir = tempDirectory()
  const house = await openHouse({ dataDir })
  onTestFinished(() => house.close())
  const { id } = await house.act('keys.create', { name: 'many' })
  const { browser } = await house.person('ann@example.org', 'owner')
  fillLog(dataDir, id, later(house.clock.now(), -HOUR_MS), MAX_USAGE_GROUPS + 5)
  const { text } = await browser.open('/cabinet/spend.csv?by=user')
  const lines = text.trimEnd().split('\r\n')
  expect(lines).toHaveLength(1 + MAX_USAGE_GROUPS + 1)
  expect(lines.at(-1)).toBe('others,5,50,25,0,0.005,0.45')
})
