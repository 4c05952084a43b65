// The bill of materials and the notices name what ships, each once, with what it needs and its licence, and nothing that only tests need.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { compile } from '#scripts/compile.ts'
import { type LockFile, readLock } from '#scripts/release/lock.ts'
import { renderNotices } from '#scripts/release/notices.ts'
import { renderSbom } from '#scripts/release/sbom.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'
import { FULL } from '#test/support/tier.ts'
import project from '../../package.json' with { type: 'json' }

const BASE = { bunVersion: '9.9.9', libcVersion: '2.36-9+deb12u1' }

let places: readonly string[]
beforeAll(async () => {
  if (!FULL) return
  const scratch = mkdtempSync(join(tmpdir(), 'gatewayctl-'))
  places = (await compile({ outfile: join(scratch, 'gatewayctl') })).packages
  rmSync(scratch, { recursive: true })
})

test.runIf(FULL)('of this project: every dependency, Bun, and no package of the tests', () => {
  const { components, dependencies, metadata } = renderSbom(readLock(), { ...BASE, places })
  const names = components.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining([...Object.keys(project.dependencies), 'bun']))
  for (const name of Object.keys(project.devDependencies)) {
    if (name !== 'bun') expect(names).not.toContain(name)
  }
  expect(metadata.component).toMatchObject({ name: project.name, version: project.version })
  const refs = components.map((component) => component['bom-ref'])
  expect(new Set(refs).size).toBe(refs.length)
  const known = new Set([...refs, metadata.component['bom-ref']])
  for (const { ref, dependsOn } of dependencies) {
    expect(known).toContain(ref)
    for (const needed of dependsOn) expect(known).toContain(needed)
  }
  expect(dependencies).toHaveLength(components.length + 1)
  for (const { name, purl } of components)
    expect(purl).toMatch(
      name === 'libc6'
        ? /^pkg:deb\/debian\/libc6@2.36-9%2Bdeb12u1$/
        : /^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@[\w.+-]+$/,
    )
})

test.runIf(FULL)(
  'every package in the binary has its licence among the notices, and so has Bun',
  () => {
    const notices = renderNotices('.', places, readLock())
    expect(places.length).toBeGreaterThan(50)
    for (const place of places) {
      const { version, license } = readLock().packages[place] ?? {}
      const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
      expect(notices).toContain(`\n${name} ${version} (${license})\n`)
    }
    expect(notices).toContain('Copyright (c) Meta Platforms, Inc. and affiliates.')
    expect(notices).toContain('JavaScriptCore, WTF and parts of WebCore (LGPL-2.0-or-later)')
    expect(notices).toContain('GNU LIBRARY GENERAL PUBLIC LICENSE')
  },
)

test('a package without a licence, or with one that nobody knows, makes no release', () => {
  const at = { packages: { 'node_modules/a': { version: '1.0.0', license: 'SECRET' } } }
  const root = tempDirectory()
  mkdirSync(join(root, 'node_modules', 'a'), { recursive: true })
  expect(() => renderNotices(root, ['node_modules/a'], at)).toThrow(/no text of the licence SECRET/)
})

const LOCK: LockFile = {
  packages: {
    '': { name: 'house', version: '1.0.0', dependencies: { a: '1', '@s/b': '1' } },
    'node_modules/a': {
      version: '1.0.0',
      license: 'MIT',
      integrity: `sha512-${Buffer.from('digest').toString('base64')}`,
      dependencies: { c: '2' },
      optionalDependencies: { missing: '1' },
    },
    'node_modules/a/node_modules/c': { version: '2.0.0', license: '(MIT OR ISC)' },
    'node_modules/c': { version: '1.0.0' },
    'node_modules/@s/b': {
      version: '3.0.0',
      dependencies: { c: '1' },
      peerDependencies: { d: '1' },
    },
    'node_modules/d': { version: '1.0.0', dev: true },
  },
}

test('packages are found as Node finds them: beside who asks, else further out', () => {
  const shipped = Object.keys(LOCK.packages).filter((at) => at !== '' && !LOCK.packages[at]?.dev)
  const { components, dependencies } = renderSbom(LOCK, {
    ...BASE,
    places: shipped.toSorted(),
  })
  expect(components.map((component) => component['bom-ref'])).toEqual([
    'bun@9.9.9',
    'libc6@2.36-9+deb12u1',
    '@s/b@3.0.0',
    'a@1.0.0',
    'c@2.0.0#node_modules/a/node_modules/c',
    'c@1.0.0',
  ])
  expect(dependencies).toContainEqual({
    ref: 'a@1.0.0',
    dependsOn: ['c@2.0.0#node_modules/a/node_modules/c'],
  })
  expect(dependencies).toContainEqual({ ref: '@s/b@3.0.0', dependsOn: ['c@1.0.0'] })
  expect(components[3]).toEqual({
    type: 'library',
    'bom-ref': 'a@1.0.0',
    name: 'a',
    version: '1.0.0',
    purl: 'pkg:npm/a@1.0.0',
    licenses: [{ license: { id: 'MIT' } }],
    hashes: [{ alg: 'SHA-512', content: Buffer.from('digest').toString('hex') }],
  })
  expect(components[4]).toMatchObject({ licenses: [{ expression: '(MIT OR ISC)' }] })
})
