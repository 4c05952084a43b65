// Runs recorded requests of each provider type through a whole gateway, and reads what the provider receives.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import type { JsonObject } from '#domain/chat.ts'
import type { ProviderType } from '#domain/provider.ts'
import { type Served, serve } from '#test/server/serve.ts'
import { aCard, anAct, aProvider } from '#test/support/nouns.ts'
import { type Replay, startReplay } from '#test/support/replay.ts'
import type { UpstreamRequest } from '#test/support/synthetic-upstream.ts'

const RECORDINGS = fileURLToPath(new URL('../../../shared/recordings/', import.meta.url))

// biome-ignore lint/suspicious/noExplicitAny: recorded JSON
export type Wire = any

/** The body that a client really sent, by the recording's name; null where only the answer was recorded. */
export const recordedRequest = (name: string): Wire =>
  JSON.parse(readFileSync(`${RECORDINGS}${name}.json`, 'utf8')).request?.body ?? null

export interface Asked {
  readonly status: number
  /** What the provider received; undefined where nothing was sent. */
  readonly sent: UpstreamRequest | undefined
}

export interface AskOptions {
  /** The provider's name for the model. */
  readonly upstreamName: string
  readonly draws?: boolean
}

/** Call it inside a `describe`; the provider answers with the recording of that name. */
export function serveRequests(typeOf: (name: string) => ProviderType): {
  ask(name: string, body: JsonObject, options: AskOptions): Promise<Asked>
} {
  let replay: Replay
  let served: Served
  let asked = 0

  beforeAll(async () => {
    const started = await startReplay()
    if (!started) throw new Error('there are recordings, but nothing that serves them')
    replay = started
    served = await serve(null)
  })
  afterAll(async () => {
    await served?.gateway.stop(0)
    await served?.deps.store.close()
    await replay?.stop()
  })

  return {
    async ask(name, body, { upstreamName, draws = false }) {
      const provider = `p${asked++}`
      const model = `${provider}/m`
      const requestId = `asked.${provider}`
      const { store } = served.deps
      await store.providers.add(
        aProvider({
          name: provider,
          type: typeOf(name),
          baseUrl: `${replay.url}/r/${name}`,
        }),
        [],
        [],
        anAct(),
      )
      await store.models.add(
        aCard({
          id: model,
          provider,
          upstreamName,
          inputModalities: ['text', 'image'],
          outputModalities: draws ? ['text', 'image'] : ['text'],
          // Known to end by itself: where the client states no bound, none is sent.
          maxCompletionTokens: 1_000_000,
          isCatalogued: true,
        }),
        anAct(),
      )
      const headers = {
        'content-type': 'application/json',
        'x-request-id': requestId,
        ...served.key.bearer,
      }
      const response = await served.chat({ ...body, model }, { headers })
      await response.text()
      const sent = (await replay.requests()).find(
        (one) => one.headers['x-request-id'] === requestId,
      )
      return { status: response.status, sent }
    },
  }
}
