/** The feed over a socket: what it makes of a gateway that is there and says nothing. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Link, readOnce, startFeed } from '#cli/dashboard/feed.ts'
import { until } from '#test/support/appliance.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { SNAPSHOT } from './fixed-snapshot.ts'

/** A gateway that sends a frame whenever it is told to. */
function openGateway() {
  const socket = join(tempDirectory(), 's')
  const encoder = new TextEncoder()
  let send = (): void => {}
  const server = Bun.serve({
    unix: socket,
    fetch: () =>
      new Response(
        new ReadableStream({
          start(controller) {
            send = () => controller.enqueue(encoder.encode(`${JSON.stringify(SNAPSHOT)}\n`))
          },
        }),
      ),
  })
  onTestFinished(() => server.stop(true))
  return { socket, account: undefined, send: () => send() }
}

test('without a frame it is silent, and live again with the next', async () => {
  const { send, ...source } = openGateway()
  const links: Link['kind'][] = []
  const feed = startFeed({
    ...source,
    fps: 4,
    silenceMs: 100,
    onFrame() {},
    onLink: ({ kind }) => links.push(kind),
  })
  onTestFinished(() => feed.stop())
  await until(() => links.at(-1) === 'silent', 'nothing has come')
  await until(() => {
    send()
    return links.at(-1) === 'live'
  }, 'a frame has come')
  await until(() => links.at(-1) === 'silent', 'nothing has come since')
  // Asking again makes what is seen no younger.
  feed.setRate(1)
  await until(() => links.at(-2) === 'silent', 'it was asked again')
  expect(links.at(-1)).toBe('silent')
})

test('the first frame is not waited for without end', async () => {
  const { send: _, ...source } = openGateway()
  await expect(readOnce(source, 50)).rejects.toMatchObject({ name: 'TimeoutError' })
})
