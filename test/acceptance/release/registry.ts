/** A registry of npm on loopback that has the packages of a directory and no others. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Registry {
  readonly url: string
  /** What was downloaded: the names of packages, in order. */
  readonly downloads: readonly string[]
  close(): Promise<void>
}

interface Manifest {
  readonly name: string
  readonly version: string
}

export function openRegistry(directory: string): Registry {
  const downloads: string[] = []
  const packages = new Map<string, { readonly file: string; readonly manifest: Manifest }>()
  for (const file of readdirSync(directory).filter((name) => name.endsWith('.tgz'))) {
    const { stdout } = Bun.spawnSync([
      'tar',
      '-xzOf',
      join(directory, file),
      'package/package.json',
    ])
    const manifest = JSON.parse(stdout.toString()) as Manifest
    packages.set(manifest.name, { file, manifest })
  }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ url }) {
      const name = decodeURIComponent(new URL(url).pathname.slice(1))
      const wanted = [...packages.values()].find(({ file }) => name === `-/${file}`)
      if (wanted !== undefined) {
        downloads.push(wanted.manifest.name)
        return new Response(readFileSync(join(directory, wanted.file)))
      }
      const found = packages.get(name)
      if (found === undefined) return new Response('{}', { status: 404 })
      const { manifest, file } = found
      const digest = createHash('sha512').update(readFileSync(join(directory, file)))
      const dist = {
        tarball: new URL(`/-/${file}`, url).href,
        integrity: `sha512-${digest.digest('base64')}`,
      }
      return Response.json({
        name,
        'dist-tags': { latest: manifest.version },
        versions: { [manifest.version]: { ...manifest, dist } },
      })
    },
  })
  return { url: server.url.href, downloads, close: () => server.stop(true) }
}
