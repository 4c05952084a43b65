// The lock file installs anywhere: from any registry, on every platform a dependency supports.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import project from '../../package.json' with { type: 'json' }

type Locked = { resolved?: string; optionalDependencies?: Record<string, string> }

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, Locked>
}

test('no download address is recorded', () => {
  const addressed = Object.entries(lock.packages).filter(([, { resolved }]) => resolved)
  expect(addressed).toEqual([])
})

test('every platform of a native dependency is listed, or npm ci refuses the whole file', () => {
  const missing = Object.entries(lock.packages).flatMap(([at, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) =>
        !lock.packages[`node_modules/${name}`] && !lock.packages[`${at}/node_modules/${name}`],
    ),
  )
  expect(missing).toEqual([])
})

test('every version is pinned exactly', () => {
  const versions = Object.values({ ...project.dependencies, ...project.devDependencies })
  expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([])
})
