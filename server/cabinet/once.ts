/** What a form may do only once, however often it is sent: a double click, a reloaded answer, the back button. */
import { type Clock, HOUR_MS, later, MINUTE_MS } from '#domain/clock.ts'
import type { Artifacts } from '#signin/register/artifact.ts'
import { digestOf, randomSecret } from '#signin/register/digest.ts'
import type { Visit } from './visit.ts'

export interface Once {
  /**
   * Does it, or, where a form with this token was sent before, waits for what that one led to; null if that is not known any
   * more, because the process has ended since. `work` resolves with the address to go to.
   */
  run(visit: Visit, work: () => Promise<string>): Promise<string | null>
  /** Keeps a secret to be shown to this session, until it is taken or a few minutes have passed. */
  reveal(visit: Visit, name: string, secret: string): void
  /** Null for one that was shown. */
  take(visit: Visit, name: string): string | null
}

/** In a form that may be sent only once. */
export const newToken = (): string => randomSecret()

const TOKEN = /^[\w-]{40,60}$/
/** A form is refused a second time for so long, after a restart too. */
const KEPT_MS = 12 * HOUR_MS
const REVEALED_MS = 10 * MINUTE_MS
const MAX_HELD = 10_000

export function openOnce(artifacts: Artifacts, clock: Clock): Once {
  const running = new Map<string, Promise<string | null>>()
  const revealed = new Map<string, { readonly secret: string; readonly until: number }>()
  const nameOf = ({ session }: Visit, name: string): string => `${session.digest} ${name}`

  /** Durable before anything is done: whatever is killed, the form does nothing twice. */
  const claim = async (digest: string, { session }: Visit): Promise<boolean> => {
    const at = clock.now()
    const after = {
      kind: 'CabinetForm',
      digest,
      payload: '{}',
      grantId: null,
      uid: null,
      personId: session.personId,
      clientId: null,
      consumedAt: null,
      expiresAt: later(at, KEPT_MS),
    }
    const changes = [{ kind: after.kind, digest, version: 0, after }]
    const { revocations } = session
    return artifacts.write({ changes, revokedGrants: [], events: [], revocations })
  }

  return {
    async run(visit, work) {
      const token = visit.form.get('once') ?? ''
      if (!TOKEN.test(token)) return await work()
      const digest = digestOf(`${visit.session.digest} ${token}`)
      const known = running.get(digest)
      if (known !== undefined) return await known
      const { promise, resolve, reject } = Promise.withResolvers<string | null>()
      promise.catch(() => running.delete(digest))
      forget(running)
      running.set(digest, promise)
      try {
        if (!(await claim(digest, visit))) {
          running.delete(digest)
          resolve(null)
          return null
        }
        const led = await work()
        resolve(led)
        return led
      } catch (thrown) {
        // It did nothing: the form may be corrected, and sent again under another token.
        reject(thrown)
        throw thrown
      }
    },
    reveal(visit, name, secret) {
      forget(revealed)
      revealed.set(nameOf(visit, name), { secret, until: clock.now() + REVEALED_MS })
    },
    take(visit, name) {
      const found = revealed.get(nameOf(visit, name))
      revealed.delete(nameOf(visit, name))
      return found !== undefined && found.until > clock.now() ? found.secret : null
    },
  }
}

/** The oldest first. */
function forget(held: Map<string, unknown>): void {
  if (held.size < MAX_HELD) return
  const [oldest] = held.keys()
  if (oldest !== undefined) held.delete(oldest)
}
