// The notices of third parties: every package in the binary with the licence that it came with, and the parts of Bun with theirs.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import licenses from 'spdx-license-list/full.js'
import { BUN_PARTS } from './bun-parts.ts'
import type { LockFile } from './lock.ts'

const RULE = '='.repeat(78)

/** What licences, and the notices that some of them want kept, are called in packages. */
const LICENSE_FILE = /^(licen[cs]e|copying|notice)/i

const HEAD = `gatewayctl is built from the packages below and upon Bun. Each is the work of others, under its own licence.

Bun links JavaScriptCore and TinyCC, which are under the LGPL: whoever wants to change them can build Bun anew from the sources
named below, and gatewayctl upon it, by \`npm run build -- --target TARGET --runtime BUN\`.
`

/** @param root where the packages are installed; `places` are below it, as the lock file names them */
export function renderNotices(root: string, places: readonly string[], lock: LockFile): string {
  // Packages of one origin share a text: it is said once.
  const names = new Map<string, string[]>()
  for (const place of places) {
    const { version, license = '' } = lock.packages[place] ?? {}
    const name = `${place.slice(place.lastIndexOf('node_modules/') + 13)} ${version} (${license})`
    const text = textsIn(join(root, place)) || textOf(license)
    names.set(text, [...(names.get(text) ?? []), name])
  }
  const parts = BUN_PARTS.map(([name, under, source]) => `${name} (${under})\n    ${source}`)
  const ids = [...new Set(BUN_PARTS.flatMap(([, under]) => under.split(' AND ')))].toSorted()
  return [
    HEAD,
    ...[...names].map(([text, of]) => section(of.join('\n'), text)),
    section('Bun, and what it links', parts.join('\n')),
    ...ids.map((id) => section(`${id}, as parts of Bun are under it`, textOf(id))),
  ].join('\n')
}

const section = (head: string, text: string): string =>
  `${RULE}\n${head}\n${RULE}\n\n${text.trim()}\n`

const textsIn = (directory: string): string =>
  readdirSync(directory)
    .filter((name) => LICENSE_FILE.test(name))
    .toSorted()
    .map((name) => readFileSync(join(directory, name), 'utf8').replaceAll('\r\n', '\n').trim())
    .join('\n\n')

function textOf(license: string): string {
  const known = licenses[license]
  if (known === undefined) throw new Error(`no text of the licence ${license}`)
  return known.licenseText
}
