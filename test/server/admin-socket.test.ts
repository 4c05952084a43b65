// The admin socket waits for long work: a command that reads a whole ledger sends nothing until it is done.
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openAdminDoor } from '#server/admin-socket.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

/** Longer than Bun's default idle time-out, which is checked every few seconds. */
const LONG_MS = 14_000

test('an answer that takes longer than ten seconds arrives', async () => {
  const path = join(tempDirectory(), 'run', 'admin.sock')
  const socket = openAdminDoor(path).open(async () => {
    await Bun.sleep(LONG_MS)
    return new Response('done')
  })
  onTestFinished(() => socket.close())
  const answer = await fetch('http://gateway/verbs/audit', { unix: path, method: 'POST' })
  expect(await answer.text()).toBe('done')
}, 30_000)
