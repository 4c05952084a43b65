/** What the request in progress has read from the store. What it writes is refused if that has ended in the meantime. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Artifact, Artifacts } from './register/artifact.ts'

interface RequestReads {
  /** How many revocations there were before the first read. */
  counted: Promise<number> | null
  /** The same, for the interaction that the request continues. */
  interaction: number
  /** Ids that exist, by kind and digest: writing one is an update. */
  readonly known: Set<string>
}

// The protocol library calls its storage adapter without the request.
const reads = new AsyncLocalStorage<RequestReads>()

export const rememberReads = <Result>(work: () => Result): Result =>
  reads.run({ counted: null, interaction: Number.POSITIVE_INFINITY, known: new Set() }, work)

function current(): RequestReads {
  const request = reads.getStore()
  if (request === undefined) throw new Error('artifacts are read and written by requests alone')
  return request
}

/**
 * How many revocations there were when the sign-in began that the request belongs to: the request itself, or the interaction that
 * it continues, which may have begun an hour before.
 */
export async function revocationsBefore(artifacts: Artifacts): Promise<number> {
  const request = current()
  request.counted ??= artifacts.revocations()
  return Math.min(await request.counted, request.interaction)
}

const nameOf = (kind: string, digest: string): string => `${kind} ${digest}`

export async function findArtifact(
  artifacts: Artifacts,
  kind: string,
  digest: string,
): Promise<Artifact | undefined> {
  // Counted first, so that a revocation in between is noticed.
  await revocationsBefore(artifacts)
  const artifact = await artifacts.find(kind, digest)
  if (artifact === undefined) return undefined
  const request = current()
  request.known.add(nameOf(kind, digest))
  if (kind === 'Interaction') {
    request.interaction = Math.min(request.interaction, artifact.revocations)
  }
  return artifact
}

/** False if the artifact must not be issued, or has ended. */
export async function putArtifact(
  artifacts: Artifacts,
  artifact: Omit<Artifact, 'revocations'>,
): Promise<boolean> {
  const { known } = current()
  const name = nameOf(artifact.kind, artifact.digest)
  const written = { ...artifact, revocations: await revocationsBefore(artifacts) }
  if (known.has(name)) return artifacts.replace(written)
  const isAdded = await artifacts.add(written)
  if (isAdded) known.add(name)
  return isAdded
}
