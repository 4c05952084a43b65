// What every family's recordings are put through: served for the length of a `describe`, asked for through the whole upstream.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ProviderType } from '#domain/provider.ts'
import { type Recording, type Replay, startReplay } from '#test/support/replay.ts'
import { openUpstream } from '#upstream/registry.ts'
import { call, collectFolded, type Folded, provider, request } from './fixtures.ts'

/** Asks for a recording; `options` are the replay's (`split=1`, `cut=120`). */
export type Ask = (recording: Recording, options?: string) => Promise<Folded>

/** Call it inside a `describe`; `replay()` is there once its tests run. */
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
    return collectFolded(upstream.open(call({ request: asked, type })))
  }
  return { ask, replay: () => replay }
}

/** However the network cuts a stream, and however its lines end, it says the same; `plain` is what is compared. */
export function testEveryDress(
  streams: readonly Recording[],
  ask: Ask,
  plain: (answer: Folded) => unknown,
): void {
  test.each(streams.map((recording) => [recording.name, recording] as const))(
    '%s is the same in every dress',
    async (_, recording) => {
      const whole = plain(await ask(recording))
      expect(plain(await ask(recording, 'split=1'))).toEqual(whole)
      expect(plain(await ask(recording, 'crlf'))).toEqual(whole)
      expect(plain(await ask(recording, 'split=3,crlf'))).toEqual(whole)
    },
  )
}
