// What an operator unpacks on a machine: the program, the units of systemd beside it, and the notices.
import type { Target } from './runtimes.ts'
import { tarGz } from './tar.ts'

export interface TarballOptions {
  readonly version: string
  readonly notices: string
  /** Files beside the program, by name. */
  readonly units: Readonly<Record<string, Uint8Array>>
  readonly modifiedSeconds: number
}

export function renderTarball(target: Target, binary: Uint8Array, options: TarballOptions) {
  const { version, notices, units, modifiedSeconds } = options
  const name = `gatewayctl-${version}-${target}`
  const isLinux = target.startsWith('linux')
  const texts = { ...(isLinux && units), 'THIRD-PARTY-NOTICES.txt': Buffer.from(notices) }
  return {
    name: `${name}.tar.gz`,
    bytes: tarGz(
      [
        { path: `${name}/gatewayctl`, mode: 0o755, bytes: binary },
        ...Object.entries(texts).map(([file, bytes]) => ({
          path: `${name}/${file}`,
          mode: 0o644,
          bytes,
        })),
      ],
      modifiedSeconds,
    ),
  }
}
