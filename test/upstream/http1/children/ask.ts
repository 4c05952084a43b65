// Posts once to the given URL with the provider client, in the environment in which this process was started.
import { fromTransportError } from '#upstream/failure.ts'
import { openPost } from '#upstream/post.ts'
import type { Reply } from '#upstream/reply.ts'

const nobody = () => {}
const control = {
  isAborted: false,
  attach: nobody,
  connecting: nobody,
  connected: nobody,
  sent: nobody,
}
try {
  const opening = Promise.withResolvers<Reply>()
  openPost(process.argv[2] ?? '')({ headers: {}, body: '{}' }, opening, control, false)
  const reply = await opening.promise
  let bytes = 0
  for (let piece = await reply.read(); !piece.done; piece = await reply.read()) {
    bytes += piece.value.length
  }
  console.log(`${reply.status} ${bytes}`)
} catch (thrown) {
  console.log(fromTransportError(thrown).message)
}
