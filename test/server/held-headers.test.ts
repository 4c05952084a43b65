// The headers of a stream whose provider is silent: delayed for a while, then sent, over a real socket.
import { expect, onTestFinished, test } from 'vitest'
import { hello } from '#test/support/furnish.ts'
import { finish, script, text, until } from '#test/support/scripted-upstream.ts'
import { serve } from './serve.ts'

test('they are sent when the delay is over, although no content has arrived', async () => {
  const go = Promise.withResolvers<void>()
  const played = script(async function* (call) {
    await until(go.promise, call)
    yield [text('late'), finish()]
  })
  // If they were sent only with the first comment or content, this client would time out.
  const { gateway, chat } = await serve(played.upstream, {
    headerWaitMs: 20,
    keepAliveMs: 60_000,
  })
  onTestFinished(() => gateway.stop(1_000))
  const response = await chat(hello({ stream: true }), { signal: AbortSignal.timeout(10_000) })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  go.resolve()
  expect(await response.text()).toMatch(/^: keep-alive\n\n.*"content":"late".*\[DONE\]\n\n$/s)
})
