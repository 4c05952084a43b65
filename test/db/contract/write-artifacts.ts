/** Writes of artifacts as requests make them. */
import type { Artifact, ArtifactWrite } from '#signin/register/artifact.ts'
import type { SigninStore } from '#signin/store.ts'

/** Writes one artifact over the version that was read; 0 adds it. */
export const putArtifact = (
  { artifacts }: SigninStore,
  after: Artifact,
  { version = 0, revocations = 0 } = {},
): Promise<boolean> => artifacts.write(aWrite([{ after, version }], { revocations }))

/** Each over the version that was read. */
export const aWrite = (
  changes: readonly { readonly after: Artifact; readonly version: number }[],
  more: Partial<ArtifactWrite> = {},
): ArtifactWrite => ({
  changes: changes.map(({ after, version }) => {
    const { kind, digest } = after
    return { kind, digest, version, after }
  }),
  revokedGrants: [],
  revocations: 0,
  events: [],
  ...more,
})

/** Removes one at the version that was read. */
export const aRemoval = ({ kind, digest }: Artifact, version: number): ArtifactWrite => ({
  changes: [{ kind, digest, version, after: null }],
  revokedGrants: [],
  revocations: 0,
  events: [],
})
