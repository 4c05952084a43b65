/** A gateway that is killed while notices fall due: each mail arrives once, each webhook under one id. */
import { describe, expect, test } from 'vitest'
import { furnishCli, readDatabase, startAppliance, until } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'
import { openMailServer } from '#test/support/mail-server.ts'
import { openReceiver } from '#test/support/receiver.ts'
import { FULL } from '#test/support/tier.ts'

const ROUNDS = FULL ? 30 : 2
/** Longer than the courier sleeps. */
const MAX_MS = 1_200

describe('a gateway that is killed', () => {
  test(`${ROUNDS} times while notices fall due: each mail once, each webhook under one id`, {
    timeout: 180_000,
  }, async () => {
    const desk = furnishCli(openCli())
    const post = openReceiver(async () => {
      await Bun.sleep(Math.random() * 50)
      return new Response(null, { status: 204 })
    })
    const box = await openMailServer()
    const env = {
      GATEWAY_ALLOW_LOOPBACK_WEBHOOKS: '1',
      GATEWAY_SMTP_URL: `smtp://127.0.0.1:${box.port}`,
      GATEWAY_SMTP_FROM: 'Gateway <gateway@example.org>',
    }
    const start = () => startAppliance(desk, { env })
    let killed = await start()
    try {
      await killed.verb('notices.set', { email: 'ops@example.org', webhook_url: `${post.url}/` })
      const demo = { model: 'demo/lorem', messages: [{ role: 'user', content: 'hi' }] }
      for (let round = 0; round < ROUNDS; round++) {
        const limit = { daily_spend_limit_usd: '0.000001' }
        const { key } = await killed.verb('keys.create', { name: `k${round}`, ...limit })
        const answer = await killed.chat(key, demo)
        expect(answer.status).toBe(200)
        await answer.arrayBuffer()
        await Bun.sleep(Math.random() * MAX_MS)
        await killed.kill()
        killed = await start()
      }
      const rows = () =>
        readDatabase<{ event_id: string; state: string }>(
          desk,
          "SELECT event_id, state FROM outbox WHERE type = 'gateway.key_ceiling'",
        )
      await until(
        () => rows().every(({ state }) => state === 'delivered'),
        'every notice has arrived',
        60_000,
      )
      const events = new Set(rows().map((row) => row.event_id))
      expect(events.size).toBe(ROUNDS)
      const mailed = box.taken.map(({ source }) => /^Message-ID: <(evt_\w+)@/im.exec(source)?.[1])
      expect(new Set(mailed)).toEqual(events)
      expect(new Set(post.received.map(({ headers }) => headers['webhook-id']))).toEqual(events)
      process.stdout.write(
        `troubles: ${ROUNDS} events, ${post.received.length} webhooks, ${mailed.length} mails\n`,
      )
      // A kill between the mail server's 250 and its note sends a mail again, under the same Message-ID (docs/operator/notices.md).
      expect(mailed.length - ROUNDS).toBeLessThanOrEqual(1)
    } finally {
      await killed.kill()
      await Promise.all([post.close(), box.close()])
      desk.close()
    }
  })
})
