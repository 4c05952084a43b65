// The packages of npm: one per platform, each with its binary, and the main one, whose launcher finds that of the machine. npm alone chooses;
// no script runs when they are installed.
import { readFileSync } from 'node:fs'
import { TARGETS, type Target } from './runtimes.ts'
import { tarGz } from './tar.ts'

export interface NpmOptions {
  readonly version: string
  readonly notices: string
  readonly modifiedSeconds: number
}

const packageOf = (target: Target): string => `@gatewayctl/${target}`

/** As `npm pack` names it. */
const fileOf = (name: string, version: string): string =>
  `${name.replace('@', '').replace('/', '-')}-${version}.tgz`

const README = `# gatewayctl

A self-hosted model gateway that counts money exactly, in one file.

    npx gatewayctl serve --demo
`

/** What `npm publish` takes; the platforms go first, so that nobody installs a main package without them. */
export function renderMainPackage({ version, notices, modifiedSeconds }: NpmOptions) {
  const manifest = {
    name: 'gatewayctl',
    version,
    description: 'A self-hosted model gateway that counts money exactly, in one file.',
    type: 'module',
    bin: { gatewayctl: 'gatewayctl.mjs' },
    engines: { node: '>=18' },
    optionalDependencies: Object.fromEntries(TARGETS.map((target) => [packageOf(target), version])),
  }
  const launcher = readFileSync(new URL('./launcher.mjs', import.meta.url))
  return {
    name: fileOf('gatewayctl', version),
    bytes: pack(manifest, modifiedSeconds, [
      { path: 'gatewayctl.mjs', mode: 0o755, bytes: launcher },
      { path: 'README.md', mode: 0o644, bytes: Buffer.from(README) },
      { path: 'THIRD-PARTY-NOTICES.txt', mode: 0o644, bytes: Buffer.from(notices) },
    ]),
  }
}

export function renderPlatformPackage(
  target: Target,
  binary: Uint8Array,
  { version, notices, modifiedSeconds }: NpmOptions,
) {
  const [os = '', cpu = '', libc] = target.split('-')
  const manifest = {
    name: packageOf(target),
    version,
    description: `The binary of gatewayctl for ${target}.`,
    os: [os],
    cpu: [cpu],
    ...(os === 'linux' && { libc: [libc ?? 'glibc'] }),
    preferUnplugged: true,
  }
  return {
    name: fileOf(packageOf(target), version),
    bytes: pack(manifest, modifiedSeconds, [
      { path: 'gatewayctl', mode: 0o755, bytes: binary },
      { path: 'THIRD-PARTY-NOTICES.txt', mode: 0o644, bytes: Buffer.from(notices) },
    ]),
  }
}

function pack(
  manifest: object,
  modifiedSeconds: number,
  files: readonly { readonly path: string; readonly mode: number; readonly bytes: Uint8Array }[],
): Uint8Array {
  const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
  const all = [{ path: 'package.json', mode: 0o644, bytes: text }, ...files]
  return tarGz(
    all.map((file) => ({ ...file, path: `package/${file.path}` })),
    modifiedSeconds,
  )
}
