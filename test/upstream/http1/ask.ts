// Posts from a process of its own: what its environment says is read when it starts.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { Certificate } from './raw-provider.ts'

export const fixture = (name: string): string =>
  fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))

export const certificate = (name: string): Certificate => ({
  key: readFileSync(fixture(`${name}-key.pem`), 'utf8'),
  cert: readFileSync(fixture(`${name}-cert.pem`), 'utf8'),
})

const CHILD = fileURLToPath(new URL('children/ask.ts', import.meta.url))

/** What a process prints about its requests, so many at once, with only these variables added to its environment. */
export async function ask(
  url: URL,
  env: Record<string, string> = {},
  times = 1,
  atOnce = 1,
): Promise<string> {
  const child = Bun.spawn([process.execPath, CHILD, url.href, `${times}`, `${atOnce}`], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const text = await child.stdout.text()
  // An idle connection does not keep the process alive.
  expect(await child.exited).toBe(0)
  return text.trim()
}
