// Serves the recordings of a provider type during a `describe`, through the whole upstream client.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ProviderType } from '#domain/provider.ts'
import { type Recording, type Replay, startReplay } from '#test/support/replay.ts'
import { openUpstream } from '#upstream/registry.ts'
import { call, collectFolded, type Folded, provider, request } from './fixtures.ts'

/** Requests a recording; `options` are the replay's (`split=1`, `cut=120`). */
export type Ask = (recording: Recording, options?: string) => Promise<Folded>

/** Call it inside a `describe`; `replay()` is available once its tests run. */
export function serveRecordings(
  typeOf: (recording: Recording) => ProviderType,
  credential: string,
): { readonly ask: Ask; readonly replay: () => Replay } {
  let replay: Replay

  beforeAll(async () => {
    const started = await startReplay()
    if (!started) throw new Error('there are recordings, but nothing that serves them')
    replay = started
  })
  afterAll(() => replay?.stop())

  const ask: Ask = (recording, options = '') => {
    const path = `/r/${recording.name}${options && `/~${options}`}`
    const type = typeOf(recording)
    const upstream = openUpstream(provider(replay.url + path, type), credential)
    const asked = request({ stream: recording.stream }, { stream: recording.stream })
    return collectFolded(upstream.ask(call({ request: asked, type })))
  }
  return { ask, replay: () => replay }
}

/** A stream has the same meaning however the network splits it and whatever ends its lines; `plain` is what is compared. */
export function testEveryDress(
  streams: readonly Recording[],
  ask: Ask,
  plain: (answer: Folded) => unknown,
): void {
  test.each(streams.map((recording) => [recording.name, recording] as const))(
    '%s is the same however it is split, with any line ending',
    async (_, recording) => {
      const whole = plain(await ask(recording))
      expect(plain(await ask(recording, 'split=1'))).toEqual(whole)
      expect(plain(await ask(recording, 'crlf'))).toEqual(whole)
      expect(plain(await ask(recording, 'split=3,crlf'))).toEqual(whole)
    },
  )
}
