/** What doctor asks of the world around the store: backups, addresses, disks, clocks. */
import { expect, test } from 'vitest'
import { DAY_MS } from '#domain/clock.ts'
import type { ApiKey } from '#domain/key.ts'
import { NO_MONEY } from '#domain/money.ts'
import { aCharge, aClaim, anActivity, usd } from '#test/support/nouns.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { act, openFurnished, type TestOffice } from './office.ts'

const findings = async (office: Parameters<typeof act>[0], check: string) =>
  (await act(office, 'doctor', {})).findings.filter((finding) => finding.check === check)

const onDisk = (office: TestOffice) => ({ ...office, dataDir: tempDirectory() })

async function charge({ store, clock }: TestOffice): Promise<void> {
  const claim = aClaim((await store.keys.search('default', 1))[0] as ApiKey, clock.now(), NO_MONEY)
  await store.admissions.admit(claim)
  const done = { charge: aCharge(usd('0.01')), activity: anActivity(claim) }
  await store.admissions.settle(claim.generationId, { at: clock.now(), ...done })
}

test('no backup worries nobody before the first charge, after it and after a week it does', async () => {
  const office = onDisk(await openFurnished())
  expect(await findings(office, 'backup')).toMatchObject([
    { level: 'ok', message: 'nothing to back up yet' },
  ])
  await act(office, 'balance.top-up', { amount_usd: '1' })
  await charge(office)
  expect(await findings(office, 'backup')).toMatchObject([
    { level: 'warning', message: 'no backup was ever taken', next: 'gatewayctl backup --verify' },
  ])
  const taken_at = '2026-08-23T12:00:00Z'
  await act(office, 'backup', { file: '/b.db', size_bytes: 1, taken_at })
  expect(await findings(office, 'backup')).toMatchObject([{ message: 'last backup today' }])
  office.clock.advance(7 * DAY_MS)
  expect(await findings(office, 'backup')).toMatchObject([{ level: 'ok' }])
  office.clock.advance(2 * DAY_MS)
  expect(await findings(office, 'backup')).toMatchObject([
    { level: 'warning', message: 'no backup in 9 days' },
  ])
})
