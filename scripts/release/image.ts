// The container image, made without a container engine: an OCI image layout in a tar, which `docker load` takes as well.

import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Architecture } from './libc.ts'
import { type TarEntry, tar } from './tar.ts'

export interface ImageOptions {
  readonly version: string
  readonly architecture: Architecture
  readonly binary: Uint8Array
  readonly notices: string
  readonly libc: readonly TarEntry[]
  readonly modifiedSeconds: number
}

const NONROOT = 65532
const HOME = '/home/nonroot'
const PROGRAM = '/usr/local/bin/gatewayctl'

/** A user with a directory, names by file and by DNS, and nothing else: no shell. */
const SYSTEM: readonly TarEntry[] = [
  { path: 'tmp/', mode: 0o1777 },
  { path: 'home/nonroot/', mode: 0o700, owner: NONROOT },
  file(
    'etc/passwd',
    `root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:${NONROOT}:${NONROOT}:nonroot:${HOME}:/sbin/nologin\n`,
  ),
  file('etc/group', `root:x:0:\nnonroot:x:${NONROOT}:\n`),
  file('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n'),
]

/** What runs in it; the directory is the user's, so that a named volume is theirs as well. */
export const CONFIG = {
  User: `${NONROOT}:${NONROOT}`,
  Env: [
    'PATH=/usr/local/bin',
    `HOME=${HOME}`,
    `GATEWAY_DATA_DIR=${HOME}/gatewayctl`,
    'GATEWAY_LISTEN=0.0.0.0:4140',
    'GATEWAY_AUTH_LISTEN=0.0.0.0:4141',
  ],
  Entrypoint: [PROGRAM],
  Cmd: ['serve', '--log', 'json', '--drain', '100s'],
  WorkingDir: '/',
  ExposedPorts: { '4140/tcp': {}, '4141/tcp': {} },
  Volumes: { [HOME]: {} },
  StopSignal: 'SIGTERM',
  // Docker's own; OCI knows no such field, and leaves it alone.
  Healthcheck: {
    Test: ['CMD', PROGRAM, 'status', '-q'],
    Interval: 30e9,
    Timeout: 5e9,
    StartPeriod: 10e9,
    Retries: 3,
  },
}

/** One platform; the C library and the program are layers of their own, so that an upgrade brings the second alone. */
export function renderImage(options: ImageOptions): Uint8Array {
  const { version, architecture, binary, notices, libc, modifiedSeconds } = options
  const layers = [
    [...libc, ...SYSTEM],
    [
      { path: PROGRAM.slice(1), mode: 0o755, bytes: binary },
      file('usr/share/doc/gatewayctl/THIRD-PARTY-NOTICES.txt', notices),
    ],
  ].map((entries) => {
    const layer = tar(entries, modifiedSeconds)
    return { diffId: digestOf(layer), blob: gzipSync(layer) }
  })
  const config = json({
    architecture,
    os: 'linux',
    created: new Date(modifiedSeconds * 1000).toISOString(),
    config: CONFIG,
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
  })
  const manifest = json({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptorOf(config, 'application/vnd.oci.image.config.v1+json'),
    layers: layers.map(({ blob }) =>
      descriptorOf(blob, 'application/vnd.oci.image.layer.v1.tar+gzip'),
    ),
  })
  const tag = `gatewayctl:${version}`
  const index = json({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [
      {
        ...descriptorOf(manifest, 'application/vnd.oci.image.manifest.v1+json'),
        platform: { architecture, os: 'linux' },
        annotations: {
          'io.containerd.image.name': `docker.io/library/${tag}`,
          'org.opencontainers.image.ref.name': version,
        },
      },
    ],
  })
  const blobs = [config, manifest, ...layers.map(({ blob }) => blob)]
  const forDocker = json([
    {
      Config: pathOf(config),
      RepoTags: [tag],
      Layers: layers.map(({ blob }) => pathOf(blob)),
    },
  ])
  return tar(
    [
      file('oci-layout', '{"imageLayoutVersion":"1.0.0"}'),
      { path: 'index.json', mode: 0o644, bytes: index },
      { path: 'manifest.json', mode: 0o644, bytes: forDocker },
      ...blobs.map((bytes) => ({ path: pathOf(bytes), mode: 0o644, bytes })),
    ],
    modifiedSeconds,
  )
}

function file(path: string, text: string): TarEntry {
  return { path, mode: 0o644, bytes: Buffer.from(text) }
}

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

const hexOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const digestOf = (bytes: Uint8Array): string => `sha256:${hexOf(bytes)}`
const pathOf = (bytes: Uint8Array): string => `blobs/sha256/${hexOf(bytes)}`

const descriptorOf = (bytes: Uint8Array, mediaType: string) => ({
  mediaType,
  digest: digestOf(bytes),
  size: bytes.length,
})
