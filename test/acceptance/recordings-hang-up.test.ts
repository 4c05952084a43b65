/** A client that hangs up in a recorded stream that has fallen silent: it pays for what came, by the provider's count where there is one. */
import { afterAll, beforeAll, describe } from 'vitest'
import { type Replay, recordings, startReplay } from '#test/support/replay.ts'
import { type HangUpGateway, openHangUpGateway } from './hang-up/hang-up-gateway.ts'
import { testSilentStreams } from './hang-up/silent-streams.ts'

describe.skipIf(recordings().length === 0)('a client that hangs up', () => {
  let replay: Replay | undefined
  let setup: HangUpGateway

  beforeAll(async () => {
    replay = await startReplay()
    if (!replay) throw new Error('there are recordings, but nothing that serves them')
    const baseUrls = {
      quick: `${replay.url}/r/openai-chat/plain-text`,
      // Its count comes with every chunk, long before its end.
      counted: `${replay.url}/r/other-openai-compatible/perplexity-stream-no-done/~stall=4000`,
      stuck: `${replay.url}/r/openai-chat/stream-include-usage/~stall=700`,
    }
    setup = await openHangUpGateway(baseUrls, replay.requests)
  })

  afterAll(async () => {
    await setup?.close()
    await replay?.stop()
  })

  testSilentStreams(() => setup, 'Southern')
})
