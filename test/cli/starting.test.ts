// A command that comes while a gateway starts: the directory is taken already, and its socket is not there yet.
import { mkdirSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDirectory } from '#db/sqlite/engine/lock.ts'
import { BINARY } from '#scripts/compile.ts'
import { until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

let cli: CliHarness
let release = (): void => {}

beforeEach(() => {
  cli = openCli()
  if (cli.run(['init', '--no-input']).code !== 0) throw new Error('the desk was not furnished')
  release = lockDirectory(cli.dataDir)
})
afterEach(() => {
  release()
  cli.close()
})

/** It has looked for the socket when it waits for the lock. */
const waitsForLock = (pid: number): boolean => {
  try {
    const files = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))
    return files.includes(join(cli.dataDir, 'lock.db'))
  } catch {
    return false
  }
}

test('it uses the socket that appeared meanwhile', async () => {
  const child = Bun.spawn([BINARY, 'keys', 'list', '--json'], {
    env: { ...cli.env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  await until(() => waitsForLock(child.pid), 'the command waits for the lock')
  const run = join(cli.dataDir, 'run')
  mkdirSync(run, { recursive: true })
  const asked: string[] = []
  const server = Bun.serve({
    unix: join(run, 'admin.sock'),
    fetch(request) {
      asked.push(new URL(request.url).pathname)
      return Response.json([])
    },
  })
  const err = await child.stderr.text()
  expect({ code: await child.exited, err }).toEqual({ code: 0, err: '' })
  await server.stop(true)
  expect(asked).toEqual(['/verbs/keys.list'])
})

test('without a socket it says that the directory is in use', async () => {
  const { code, out, err } = await cli.runBeside(['keys', 'list'])
  expect({ code, out }).toEqual({ code: 4, out: '' })
  expect(err).toContain(`another gatewayctl process has ${cli.dataDir} open`)
})
