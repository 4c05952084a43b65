/** The artifacts of one request: each is read once, changed in memory, and all changes are written in one act before the answer. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Journal } from './journal.ts'
import type { Artifact, Artifacts, ArtifactWrite, StoredArtifact } from './register/artifact.ts'
import { newSigninEvent, type SigninEvent, type SigninFacts } from './register/signin-event.ts'

export interface RequestArtifacts {
  find(kind: string, digest: string): Promise<Artifact | undefined>
  findByUid(kind: string, uid: string): Promise<Artifact | undefined>
  /** Adds or replaces it. What this request has ended stays ended. */
  put(artifact: Artifact): void
  remove(kind: string, digest: string): Promise<void>
  /** Removes all artifacts of one kind that were issued under a grant. */
  revokeGrant(kind: string, grantId: string): void
  /**
   * How many revocations there were when the sign-in began that the request belongs to: the request itself, or the interaction
   * that it continues, which may have begun an hour before.
   */
  revocationsBefore(): Promise<number>
  /** Another request is about to do what this one waits for: runs it again in a moment, unless it has waited long enough. */
  giveWay(): void
  /** Adds an event to the log of signing in. */
  note(event: SigninEvent): void
}

// The protocol library calls its storage adapter without the request.
const requests = new AsyncLocalStorage<RequestArtifacts>()

/** The artifacts of the request in progress. */
export function requestArtifacts(): RequestArtifacts {
  const request = requests.getStore()
  if (request === undefined) throw new Error('artifacts are read and written by requests alone')
  return request
}

/** Notes what the request in progress has come to; it is written with what the request changes. */
export const noteEvent = (clock: Clock, facts: SigninFacts): void =>
  requestArtifacts().note(newSigninEvent(clock.now(), facts))

/** How often a request is run: each time, another one was faster and is complete. */
const MAX_RUNS = 40
/** The longest pause between two runs; it doubles until then, and is random, so that requests do not meet again. */
const MAX_PAUSE_MS = 128

/**
 * Runs a request until what it writes is still true of what it has read: other requests of the same browser session, code or
 * grant come before it or after it, at whichever node they arrive. An answer of failure writes nothing.
 * @throws store_unavailable
 */
export async function inOneAct(
  artifacts: Artifacts,
  journal: Journal,
  work: () => Promise<Response>,
): Promise<Response> {
  for (let run = 1; run <= MAX_RUNS; run++) {
    const { request, commit } = openRequest(artifacts, journal, run === MAX_RUNS)
    const answer = await requests.run(request, work)
    if (answer.status >= 500 || (await commit())) return answer
    await Bun.sleep(Math.random() * Math.min(2 ** run, MAX_PAUSE_MS))
  }
  throw new GatewayError('store_unavailable', 'other requests were faster, again and again', {
    retryAfterSeconds: 1,
  })
}

interface Held {
  /** 0 where there was none. */
  readonly version: number
  readonly after: Artifact | undefined
  readonly isChanged: boolean
}

const nameOf = (kind: string, digest: string): string => `${kind} ${digest}`

function openRequest(artifacts: Artifacts, journal: Journal, isLast: boolean) {
  const held = new Map<string, Held & Pick<Artifact, 'kind' | 'digest'>>()
  const revokedGrants: ArtifactWrite['revokedGrants'][number][] = []
  const events: SigninEvent[] = []
  let counted: Promise<number> | null = null
  let ofInteraction = Number.POSITIVE_INFINITY
  let hasGivenWay = false

  const hold = (kind: string, digest: string, known: Held): void => {
    held.set(nameOf(kind, digest), { kind, digest, ...known })
  }
  /** The first reading counts: what is written is written for that. */
  const keep = (kind: string, digest: string, found: StoredArtifact | undefined) => {
    const known = held.get(nameOf(kind, digest))
    if (known !== undefined) return known.after
    if (found === undefined) return undefined
    if (kind === 'Interaction') ofInteraction = Math.min(ofInteraction, found.revocations)
    hold(kind, digest, { version: found.version, after: found, isChanged: false })
    return found
  }
  const end = (kind: string, digest: string): void => {
    const known = held.get(nameOf(kind, digest))
    if (known?.after === undefined) return
    hold(kind, digest, { ...known, after: undefined, isChanged: true })
  }

  const request: RequestArtifacts = {
    async find(kind, digest) {
      const known = held.get(nameOf(kind, digest))
      if (known !== undefined) return known.after
      // Counted first, so that a revocation in between is noticed.
      await request.revocationsBefore()
      return keep(kind, digest, await artifacts.find(kind, digest))
    },
    async findByUid(kind, uid) {
      await request.revocationsBefore()
      const found = await artifacts.findByUid(kind, uid)
      return found && keep(kind, found.digest, found)
    },
    put(artifact) {
      const { kind, digest } = artifact
      const known = held.get(nameOf(kind, digest))
      if (known?.isChanged && known.after === undefined) return
      hold(kind, digest, { version: known?.version ?? 0, after: artifact, isChanged: true })
    },
    async remove(kind, digest) {
      await request.find(kind, digest)
      end(kind, digest)
    },
    revokeGrant(kind, grantId) {
      revokedGrants.push({ kind, grantId })
      for (const { after } of held.values()) {
        if (after?.kind === kind && after.grantId === grantId) end(kind, after.digest)
      }
    },
    async revocationsBefore() {
      counted ??= artifacts.revocations()
      return Math.min(await counted, ofInteraction)
    },
    giveWay() {
      hasGivenWay = !isLast
    },
    note: (event) => void events.push(event),
  }

  /** False if the request must run again. */
  const commit = async (): Promise<boolean> => {
    if (hasGivenWay) return false
    const changes = [...held.values()]
      .filter(({ isChanged, version, after }) => isChanged && (version > 0 || after !== undefined))
      .map(({ kind, digest, version, after = null }) => ({ kind, digest, version, after }))
    const kept = journal.kept(events)
    if (changes.length + revokedGrants.length + kept.length > 0) {
      const revocations = await request.revocationsBefore()
      if (!(await artifacts.write({ changes, revokedGrants, revocations, events: kept })))
        return false
    }
    journal.told(events)
    return true
  }
  return { request, commit }
}
