/** What every engine promises about a key's second secret, and every one after it. */
import { describe, expect, test } from 'vitest'
import { type Instant, later } from '#domain/clock.ts'
import { type ApiKey, keyStatus } from '#domain/key.ts'
import { labelOf, newSecret, type Secret } from '#domain/secret.ts'
import { anAct, usd } from '#test/support/nouns.ts'
import type { Bench } from './bench.ts'

const HOUR_MS = 3_600_000

export function rotationContract(bench: Bench): void {
  const whoAnswers = async (secret: Secret, at: Instant = bench.clock.now()) =>
    (await bench.store.keys.findBySecret(secret, at))?.id

  /** Rotates now; a null grace is none. */
  const rotate = async (key: ApiKey, graceMs: number | null) => {
    const secret = newSecret()
    const now = bench.clock.now()
    const until = graceMs === null ? null : later(now, graceMs)
    return { secret, rotated: await bench.store.keys.rotate(key.id, secret, until, anAct(now)) }
  }

  describe('a rotation', () => {
    test('changes the label and the time of change, and nothing else', async () => {
      const limits = { rpm: 3, dailySpend: usd('4'), allowedModels: ['acme/*'] }
      const { key } = await bench.issue(limits, { note: 'kept', kind: 'provisioning' })
      bench.clock.advance(1_000)
      const { secret, rotated } = await rotate(key, HOUR_MS)
      const expected = { ...key, label: labelOf(secret), updatedAt: bench.clock.now() }
      expect(rotated).toEqual(expected)
      expect(await bench.store.keys.find(key.id)).toEqual(expected)
      expect(await bench.store.keys.findBySecret(secret, bench.clock.now())).toEqual(expected)
      expect(await bench.store.keys.search(key.label, 10)).toEqual([])
      expect(await bench.store.keys.search(expected.label, 10)).toHaveLength(1)
    })

    test('lets the old secret live to the end of its grace, and not an instant longer', async () => {
      const { key, secret: old } = await bench.issue()
      // Used before, so that an engine which remembers secrets remembers this one as endless.
      expect(await whoAnswers(old)).toBe(key.id)
      const { secret } = await rotate(key, HOUR_MS)
      const end = later(bench.clock.now(), HOUR_MS)
      for (const [at, answers] of [
        [bench.clock.now(), key.id],
        [later(end, -1), key.id],
        [end, undefined],
        [later(end, HOUR_MS), undefined],
      ] as const) {
        expect([at, await whoAnswers(old, at)]).toEqual([at, answers])
        expect(await whoAnswers(secret, at)).toBe(key.id)
      }
    })

    test('without a grace ends the old secret at once', async () => {
      const { key, secret: old } = await bench.issue()
      expect(await whoAnswers(old)).toBe(key.id)
      const { secret } = await rotate(key, null)
      expect(await whoAnswers(old)).toBeUndefined()
      expect(await whoAnswers(secret)).toBe(key.id)
    })

    test('ends every earlier secret, and prolongs none', async () => {
      const { key, secret: first } = await bench.issue()
      const { secret: second } = await rotate(key, HOUR_MS)
      const { secret: third } = await rotate(key, 5 * HOUR_MS)
      const now = bench.clock.now()
      const answering = async (afterMs: number) => {
        const at = later(now, afterMs)
        const secrets = [first, second, third]
        return await Promise.all(secrets.map(async (one) => (await whoAnswers(one, at)) === key.id))
      }
      expect(await answering(0)).toEqual([true, true, true])
      expect(await answering(HOUR_MS)).toEqual([false, true, true])
      expect(await answering(5 * HOUR_MS)).toEqual([false, false, true])
      await rotate(key, null)
      expect(await answering(0)).toEqual([false, false, false])
    })

    test('leaves counters, windows and requests in progress as they are', async () => {
      const { key, secret: old } = await bench.issue({
        rpm: 2,
        concurrency: 2,
        dailySpend: usd('1'),
      })
      await bench.spend(key, '0.4')
      const { claim } = await bench.admit(key, '0.1')
      await rotate(key, null)
      const { admissions } = bench.store
      expect(await admissions.usage(key.id, bench.clock.now())).toMatchObject({
        spendDay: usd('0.4'),
        reserved: usd('0.1'),
        requestsInProgress: 1,
        requestsMinute: 2,
      })
      expect((await bench.admit(key)).refusal?.code).toBe('rate_limit_exceeded')
      expect(await bench.settle(claim, '0.1')).toBe(true)
      expect((await admissions.usage(key.id, bench.clock.now())).spendDay).toBe(usd('0.5'))
      expect(await whoAnswers(old)).toBeUndefined()
    })

    test('leaves the secrets of other keys alone', async () => {
      const { key } = await bench.issue()
      const { key: other, secret } = await bench.issue()
      expect(await whoAnswers(secret)).toBe(other.id)
      await rotate(key, null)
      expect(await whoAnswers(secret)).toBe(other.id)
    })

    test('does not revive: a disabled or expired key gets a secret and stays what it is', async () => {
      const now = bench.clock.now()
      for (const [stated, status] of [
        [{ disabledAt: now }, 'disabled'],
        [{ expiresAt: now }, 'expired'],
      ] as const) {
        const { key } = await bench.issue({}, stated)
        expect(keyStatus((await rotate(key, null)).rotated, now)).toBe(status)
      }
    })

    test('of a revoked or an unknown key is refused, and its new secret opens nothing', async () => {
      const { key, secret: old } = await bench.issue()
      const { keys } = bench.store
      const now = bench.clock.now()
      await keys.revoke(key.id, anAct(now))
      const secret = newSecret()
      for (const [id, code] of [
        [key.id, 'key_revoked'],
        ['key_none', 'key_not_found'],
      ] as const) {
        await expect(keys.rotate(id, secret, null, anAct(now))).rejects.toMatchObject({ code })
      }
      expect(await whoAnswers(secret)).toBeUndefined()
      // Its own secret is still known, so that whoever uses it is told that the key was revoked.
      expect(await whoAnswers(old)).toBe(key.id)
    })

    test('survives a restart, grace and all', async () => {
      const { key, secret: old } = await bench.issue()
      const { secret } = await rotate(key, HOUR_MS)
      const end = later(bench.clock.now(), HOUR_MS)
      await bench.restart()
      expect(await whoAnswers(old, later(end, -1))).toBe(key.id)
      expect(await whoAnswers(old, end)).toBeUndefined()
      expect(await whoAnswers(secret, end)).toBe(key.id)
    })
  })
}
