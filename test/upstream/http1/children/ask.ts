// Posts once to the address it is given, as a provider's client would, in the environment it was started in.
import { fromTransportError } from '#upstream/failure.ts'
import { openPost } from '#upstream/post.ts'
import type { Reply } from '#upstream/reply.ts'

const nobody = () => {}
const control = { isAborted: false, attach: nobody, connecting: nobody, connected: nobody }
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
