// Posts to the given URL with the provider client, in the environment in which this process was started: once, or as often as asked,
// one after the other or so many at once.
import { UpstreamFailure } from '#domain/upstream.ts'
import { fromTransportError, isConnectionLost } from '#upstream/failure.ts'
import { openPost } from '#upstream/http1/post.ts'
import type { Reply } from '#upstream/reply.ts'

const nobody = () => {}
const control = {
  isAborted: false,
  attach: nobody,
  connecting: nobody,
  connected: nobody,
  sent: nobody,
}
async function ask(): Promise<string> {
  const opening = Promise.withResolvers<Reply>()
  openPost(process.argv[2] ?? '')({ headers: {}, body: '{}' }, opening, control, false)
  const reply = await opening.promise
  let bytes = 0
  for (let piece = await reply.read(); !piece.done; piece = await reply.read()) {
    bytes += piece.value.length
  }
  return `${reply.status} ${bytes}`
}

try {
  const atOnce = Number(process.argv[4] ?? 1)
  for (let times = Number(process.argv[3] ?? 1); times > 0; times -= atOnce) {
    for (const answer of await Promise.all(Array.from({ length: atOnce }, ask))) console.log(answer)
  }
} catch (thrown) {
  const { message } = thrown instanceof UpstreamFailure ? thrown : fromTransportError(thrown)
  console.log(isConnectionLost(thrown) ? `${message}: it may be sent again` : message)
}
