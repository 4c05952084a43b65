/** What a command reads from a file or from standard input has an end, and a refusal says where it is. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { furnishCli } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

const cli = furnishCli(openCli())
afterAll(() => cli.close())

const SECRET_BYTES = 64 * 1024
const DOCUMENT_BYTES = 32 * 1024 * 1024

test('a secret on standard input', () => {
  const ask = (bytes: number) =>
    cli.run(['keys', 'show', '--secret-stdin'], { stdin: 'x'.repeat(bytes) })
  expect(ask(SECRET_BYTES).err).not.toContain('longer')
  expect(ask(SECRET_BYTES + 1)).toMatchObject({
    code: 2,
    err: expect.stringContaining('standard input is longer than 65536 bytes'),
  })
})

test('a credential in a file without an end', () => {
  const { code, err } = cli.run(['providers', 'add', 'openai', '--key-file', '/dev/zero'])
  expect([code, err]).toEqual([2, expect.stringContaining('/dev/zero is longer than 65536 bytes')])
})

test.each(['-', 'gateway.toml'])('a file to apply: %s', (name) => {
  const stdin = `#${'x'.repeat(DOCUMENT_BYTES)}`
  if (name !== '-') writeFileSync(join(cli.home, name), stdin)
  const { code, err } = cli.run(['apply', '-f', name, '--yes'], name === '-' ? { stdin } : {})
  expect([code, err]).toEqual([2, expect.stringContaining('is longer than 33554432 bytes')])
})
