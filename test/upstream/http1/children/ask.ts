// Posts once to the address it is given, as a provider's client would, in the environment it was started in.
import { fromTransportError } from '#upstream/failure.ts'
import { openPost } from '#upstream/post.ts'

const nobody = () => {}
const leash = { isPulled: false, onPull: nobody, connects: nobody, connected: nobody }
try {
  const reply = await openPost(process.argv[2] ?? '')({ headers: {}, body: '{}' }, leash, false)
  let bytes = 0
  for (let piece = await reply.read(); !piece.done; piece = await reply.read()) {
    bytes += piece.value.length
  }
  console.log(`${reply.status} ${bytes}`)
} catch (thrown) {
  console.log(fromTransportError(thrown).message)
}
