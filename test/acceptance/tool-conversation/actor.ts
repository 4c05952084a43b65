/** A provider that plays the scene on its own wire, and is hard of hearing for anything that is not said in its own shape. */
import type { ServerResponse } from 'node:http'
import type { JsonObject } from '#domain/chat.ts'
import { type Socket, startProvider } from '#test/upstream/fixtures.ts'
import { STEPS } from './scene.ts'

export interface Heard {
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  // biome-ignore lint/suspicious/noExplicitAny: a body as deep as a check looks.
  readonly body: any
}

/** One wire: what must have been said by the time of a step, and how the step itself is said. */
export interface Wire {
  /** Throws when the request is not the one that this provider would understand. */
  check(heard: Heard, step: number, stream: boolean): void
  whole(step: number): JsonObject
  /** The text of an event stream. */
  stream(step: number): string
}

export interface Actor {
  readonly url: string
  /** What was wrong with the requests so far. */
  readonly complaints: readonly string[]
  /** Steps played. */
  readonly played: number
  /** From the first step again. */
  begin(stream: boolean): void
  stop(): Promise<void>
}

export async function startActor(wire: Wire): Promise<Actor> {
  let step = 0
  let streams = false
  let complaints: string[] = []
  const provider: Socket = await startProvider(async (response, n) => {
    const heard = provider.seen[n]
    try {
      if (!heard || step >= STEPS.length) throw new Error('there is no further step')
      wire.check(heard, step, streams)
    } catch (thrown) {
      complaints.push(`step ${step}: ${thrown} in ${JSON.stringify(heard?.body, null, 2)}`)
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"what?"}')
      return
    }
    const now = step++
    if (streams) await dribble(response, wire.stream(now))
    else {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(wire.whole(now)))
    }
  })
  return {
    url: provider.url,
    get complaints() {
      return complaints
    },
    get played() {
      return step
    },
    begin(stream) {
      step = 0
      streams = stream
      complaints = []
    },
    stop: provider.stop,
  }
}

const PAUSE_MS = 2

/** Writes it so that every character of several bytes is cut in two by a pause. */
async function dribble(response: ServerResponse, text: string): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const bytes = Buffer.from(text)
  let from = 0
  for (let at = 1; at < bytes.length; at++) {
    const isInside = ((bytes[at] ?? 0) & 0xc0) === 0x80
    if (!isInside) continue
    response.write(bytes.subarray(from, at))
    from = at
    await Bun.sleep(PAUSE_MS)
  }
  response.end(bytes.subarray(from))
}
