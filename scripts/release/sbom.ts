// The bill of materials: what is inside the binary and the image, as CycloneDX JSON, made of what was bundled and of the lock file.
import type { LockedPackage, LockFile } from './lock.ts'

const PREFIX = 'node_modules/'

export interface Contents {
  /** Where the packages that are in the binary stand in the lock file. */
  readonly places: readonly string[]
  readonly bunVersion: string
  /** Debian's version of the C library of the image. */
  readonly libcVersion: string
}

/** CycloneDX 1.6. Without a date or a random number, so that the same commit has the same bill. */
export function renderSbom(lock: LockFile, { places, bunVersion, libcVersion }: Contents) {
  const root = lock.packages[''] ?? {}
  const own = `${root.name}@${root.version}`
  const runtime = `bun@${bunVersion}`
  const libc = `libc6@${libcVersion}`
  const shipped = new Set(places)
  const dependsOn = (at: string): readonly string[] =>
    neededBy(lock, at)
      .filter((next) => shipped.has(next))
      .map((next) => refOf(lock, next))
      .toSorted()
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: { type: 'application', 'bom-ref': own, name: root.name, version: root.version },
    },
    components: [
      {
        type: 'platform',
        'bom-ref': runtime,
        name: 'bun',
        version: bunVersion,
        purl: purlOf('bun', bunVersion),
      },
      {
        type: 'library',
        'bom-ref': libc,
        name: 'libc6',
        version: libcVersion,
        description: 'in the container image alone',
        purl: `pkg:deb/debian/libc6@${libcVersion.replaceAll('+', '%2B')}`,
      },
      ...places.map((at) => renderComponent(at, lock.packages[at] ?? {})),
    ],
    dependencies: [
      { ref: own, dependsOn: [runtime, libc, ...dependsOn('')] },
      { ref: runtime, dependsOn: [] },
      { ref: libc, dependsOn: [] },
      ...places.map((at) => ({ ref: refOf(lock, at), dependsOn: dependsOn(at) })),
    ],
  }
}

/** As Node finds a package: beside whoever asks, else further out. A peer or an option that is not there is none. */
function neededBy({ packages }: LockFile, at: string): readonly string[] {
  return neededNames(packages[at] ?? {}).flatMap((name) => {
    for (let place = at; ; place = place.slice(0, Math.max(0, place.lastIndexOf(PREFIX) - 1))) {
      const found = `${place === '' ? '' : `${place}/`}${PREFIX}${name}`
      const locked = packages[found]
      if (locked) return locked.dev ? [] : [found]
      if (place === '') return []
    }
  })
}

/** A peer that may be missing is there for somebody else, if at all: types of a library, say. */
function neededNames(asking: LockedPackage): readonly string[] {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta = {} } = asking
  const peers = Object.keys(peerDependencies ?? {}).filter(
    (name) => !peerDependenciesMeta[name]?.optional,
  )
  return [...new Set([...peers, ...Object.keys({ ...optionalDependencies, ...dependencies })])]
}

const nameOf = (at: string): string => at.slice(at.lastIndexOf(PREFIX) + PREFIX.length)

/** Two copies of one package in two places are two components. */
const refOf = ({ packages }: LockFile, at: string): string => {
  const ref = `${nameOf(at)}@${packages[at]?.version}`
  return at === `${PREFIX}${nameOf(at)}` ? ref : `${ref}#${at}`
}

function renderComponent(at: string, { version = '', license, integrity }: LockedPackage) {
  const name = nameOf(at)
  return {
    type: 'library',
    'bom-ref': at === `${PREFIX}${name}` ? `${name}@${version}` : `${name}@${version}#${at}`,
    name,
    version,
    purl: purlOf(name, version),
    ...(license !== undefined && { licenses: [renderLicense(license)] }),
    ...(integrity !== undefined && { hashes: [renderHash(integrity)] }),
  }
}

/** A scope's @ is escaped (package-url, type npm). */
const purlOf = (name: string, version: string): string =>
  `pkg:npm/${name.replace(/^@/, '%40')}@${version}`

const renderLicense = (license: string) =>
  /^[\w.+-]+$/.test(license) ? { license: { id: license } } : { expression: license }

function renderHash(integrity: string) {
  const [algorithm = '', digest = ''] = integrity.split('-')
  return {
    alg: algorithm.toUpperCase().replace('SHA', 'SHA-'),
    content: Buffer.from(digest, 'base64').toString('hex'),
  }
}
