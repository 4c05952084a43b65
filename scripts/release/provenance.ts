// Where a release comes from: an in-toto statement with SLSA's provenance, made of the commit and of digests. It has no times, so that whoever
// builds the commit again makes the same one.

/** A thing with its digest: a file of the release, or what went into it. */
export interface Material {
  readonly uri?: string
  readonly name?: string
  /** By algorithm, in hex. */
  readonly digest: Readonly<Record<string, string>>
}

export interface Made {
  readonly commit: string
  readonly targets: readonly string[]
  readonly files: readonly Material[]
  readonly materials: readonly Material[]
}

/** in-toto Statement v1, predicate https://slsa.dev/provenance/v1. The names of builder and build are URNs: the project has no address. */
export function renderProvenance({ commit, targets, files, materials }: Made): string {
  return `${JSON.stringify({
    _type: 'https://in-toto.io/Statement/v1',
    subject: files,
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:gatewayctl:npm-run-release:1',
        externalParameters: { commit, targets },
        resolvedDependencies: [{ name: 'source', digest: { gitCommit: commit } }, ...materials],
      },
      runDetails: { builder: { id: 'urn:gatewayctl:whoever-holds-the-release-key' } },
    },
  })}\n`
}
