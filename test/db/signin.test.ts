// What the SQLite engine does with sign-in data that another master key has sealed.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { later } from '#domain/clock.ts'
import { newEventId } from '#domain/id.ts'
import type { GatewayStore } from '#signin/store.ts'
import { handClock } from '#test/support/hand-clock.ts'
import { aSigningKey } from '#test/support/signing-key.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

test('with another master key the old keys and secrets are passed over, and new ones take their place', async () => {
  const dataDir = tempDirectory()
  const clock = handClock('2026-08-23T12:00:00Z')
  const open = (fill: number) =>
    openStore({ dataDir, clock, masterKey: new Uint8Array(32).fill(fill) })
  const first = await open(1)
  await first.signin.keyring.addSigningKey(await aSigningKey(clock.now()), null, null)
  await first.signin.keyring.secret('cookies', 'one')
  await first.close()
  const second = await open(2)
  onTestFinished(() => second.close())
  expect(await second.signin.keyring.signingKeys()).toEqual([])
  expect(await second.signin.keyring.secret('cookies', 'two')).toBe('two')
  expect(await second.signin.keyring.secret('cookies', 'three')).toBe('two')
})

test('a mail that another master key sealed is forgotten; at rest nothing of one can be read', async () => {
  const dataDir = tempDirectory()
  const clock = handClock('2026-08-23T12:00:00Z')
  const open = (fill: number) =>
    openStore({ dataDir, clock, masterKey: new Uint8Array(32).fill(fill) })
  const first = await open(1)
  const [issuedAt, bound] = [clock.now(), { most: 9, withinMs: 60_000 }]
  await first.signin.mailCodes.issue(
    {
      interaction: 'i1',
      email: 'a@example.org',
      digest: 'ef'.repeat(32),
      peer: '192.0.2.1',
      site: null,
      issuedAt,
      expiresAt: later(issuedAt, 60_000),
    },
    { perPair: bound, network: null, lookbackMs: 60_000 },
    {
      id: newEventId(issuedAt),
      mail: {
        to: 'a@example.org',
        subject: 'Subject-word',
        text: '8765 4321',
        html: '<p>8765 4321</p>',
      },
    },
  )
  const claim = ({ signin }: GatewayStore) => signin.codeMails.claim(clock.now(), clock.now(), 9)
  expect((await claim(first)).mails).toHaveLength(1)
  const files = readdirSync(dataDir).filter((name) => name.startsWith('gateway.db'))
  const bytes = Buffer.concat(files.map((name) => readFileSync(join(dataDir, name))))
  expect(bytes.includes('code_mails')).toBe(true)
  expect(bytes.includes('4321')).toBe(false)
  expect(bytes.includes('Subject-word')).toBe(false)
  await first.close()
  const second = await open(2)
  onTestFinished(() => second.close())
  expect(await claim(second)).toEqual({ mails: [], nextAt: null })
})
