// The bill of materials names what ships, each once, with what it needs, and nothing that only tests need.
import { expect, test } from 'vitest'
import { type LockFile, readLock } from '#scripts/release/lock.ts'
import { renderSbom } from '#scripts/release/sbom.ts'
import project from '../../package.json' with { type: 'json' }

const BUN = { version: '9.9.9' }

test('of this project: every dependency, Bun, and no package of the tests', () => {
  const { components, dependencies, metadata } = renderSbom(readLock(), BUN)
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
  for (const { purl } of components)
    expect(purl).toMatch(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@[\w.+-]+$/)
})

test('is the same whenever it is made', () => {
  expect(JSON.stringify(renderSbom(readLock(), BUN))).toBe(
    JSON.stringify(renderSbom(readLock(), BUN)),
  )
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
  const { components, dependencies } = renderSbom(LOCK, BUN)
  expect(components.map((component) => component['bom-ref'])).toEqual([
    'bun@9.9.9',
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
  expect(components[2]).toEqual({
    type: 'library',
    'bom-ref': 'a@1.0.0',
    name: 'a',
    version: '1.0.0',
    purl: 'pkg:npm/a@1.0.0',
    licenses: [{ license: { id: 'MIT' } }],
    hashes: [{ alg: 'SHA-512', content: Buffer.from('digest').toString('hex') }],
  })
  expect(components[3]).toMatchObject({ licenses: [{ expression: '(MIT OR ISC)' }] })
})
