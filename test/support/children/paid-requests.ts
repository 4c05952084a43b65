/** Sends paid requests to a gateway in this process: some that warm it, and so many as REQUESTS says. */
import { test } from 'bun:test'
import { startGateway } from '#server/gateway.ts'
import { furnish } from '#test/support/furnish.ts'
import { aCard, anAct, aProvider, aVersion, perM } from '#test/support/nouns.ts'

/** Until whatever the first requests load and remember is there. */
const WARM = 4

test('paid requests', async () => {
  const stream = process.env['STREAM'] === 'true'
  const mock = Bun.spawn([process.execPath, 'scripts/bench/mock.ts'], { stdout: 'pipe' })
  const { value: origin = new Uint8Array() } = await mock.stdout.getReader().read()
  const baseUrl = `${new TextDecoder().decode(origin).trim()}/any/${stream ? 'openai-rush' : 'words'}/v1`
  const { store, clock, issue } = await furnish()
  await store.providers.add(aProvider({ baseUrl }), [], [], anAct())
  await store.models.add(
    aCard({ price: aVersion({ prompt: perM('1'), completion: perM('2') }) }),
    anAct(),
  )
  const { bearer } = await issue({ rpm: 1_000 })
  const listen = { hostname: '127.0.0.1', port: 0 }
  const gateway = await startGateway({ store, clock, listen, adminSocket: null, log: () => {} })
  for (let sent = 0; sent < WARM + Number(process.env['REQUESTS']); sent++) {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...bearer },
      body: JSON.stringify({
        model: 'acme/small',
        messages: [{ role: 'user', content: 'hello there' }],
        max_tokens: 10_000,
        stream,
      }),
    })
    const text = await answer.text()
    if (!answer.ok || !text.includes('"cost"')) throw new Error(text)
  }
  await gateway.stop(1_000)
  await store.close()
  mock.kill()
})
