/** What a form may do only once, however often it is sent: a double click, a reloaded answer, the back button. */
import { HOUR_MS, later, MINUTE_MS } from '#domain/clock.ts'
import type { Artifacts } from '#signin/register/artifact.ts'
import { digestOf, randomSecret } from '#signin/register/digest.ts'
import type { CabinetDeps } from './deps.ts'
import type { Session } from './session.ts'
import type { Visit } from './visit.ts'

export interface Once {
  /**
   * Does it, or, where a form with this token was sent before, waits for what that one led to; null if that is not known any
   * more, because the process has ended since. `work` resolves with the address to go to.
   */
  run(visit: Visit, work: () => Promise<string>): Promise<string | null>
  /** Keeps a secret, sealed, to be shown to this session by any node, until it is taken or a few minutes have passed. */
  reveal(visit: Visit, name: string, secret: string): Promise<void>
  /** Null for one that was shown. */
  take(visit: Visit, name: string): Promise<string | null>
}

/** In a form that may be sent only once. */
export const newToken = (): string => randomSecret()

/** The artifacts' kinds. */
const FORM = 'CabinetForm'
const SECRET = 'CabinetSecret'
/** A form is refused a second time for so long, after a restart too. */
const KEPT_MS = 12 * HOUR_MS
const REVEALED_MS = 10 * MINUTE_MS
const MAX_HELD = 10_000

export function openOnce(
  artifacts: Artifacts,
  { clock, seals }: Pick<CabinetDeps, 'clock' | 'seals'>,
): Once {
  const running = new Map<string, Promise<string | null>>()
  const nameOf = ({ session }: Visit, name: string): string => `${session.digest} ${name}`

  /** False where it is not of this version any more. Durable before it resolves. */
  const put = (
    { personId, revocations }: Session,
    { kind, digest, version }: { kind: string; digest: string; version: number },
    kept: { readonly payload: string; readonly forMs: number } | null,
  ): Promise<boolean> => {
    const none = { grantId: null, uid: null, clientId: null, consumedAt: null }
    const after = kept && {
      ...{ kind, digest, personId, ...none },
      payload: kept.payload,
      expiresAt: later(clock.now(), kept.forMs),
    }
    const changes = [{ kind, digest, version, after }]
    return artifacts.write({ changes, revokedGrants: [], events: [], revocations })
  }
  /** Before anything is done: whatever is killed, the form does nothing twice. */
  const claim = (digest: string, { session }: Visit): Promise<boolean> =>
    put(session, { kind: FORM, digest, version: 0 }, { payload: '{}', forMs: KEPT_MS })

  return {
    async run(visit, work) {
      const token = visit.form.get('once') ?? ''
      // No page of ours sends none.
      if (token === '') return await work()
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
    async reveal(visit, name, secret) {
      const place = nameOf(visit, name)
      const digest = digestOf(place)
      const version = (await artifacts.find(SECRET, digest))?.version ?? 0
      const payload = JSON.stringify({ sealed: seals.seal(secret, place) })
      await put(visit.session, { kind: SECRET, digest, version }, { payload, forMs: REVEALED_MS })
    },
    async take(visit, name) {
      const place = nameOf(visit, name)
      const found = await artifacts.find(SECRET, digestOf(place))
      // Of two that look at once one sees it.
      if (found === undefined || !(await put(visit.session, found, null))) return null
      const { sealed } = JSON.parse(found.payload) as { readonly sealed: string }
      return found.expiresAt > clock.now() ? seals.open(sealed, place) : null
    },
  }
}

/** The oldest first. */
function forget(held: Map<string, unknown>): void {
  if (held.size < MAX_HELD) return
  const [oldest] = held.keys()
  if (oldest !== undefined) held.delete(oldest)
}
