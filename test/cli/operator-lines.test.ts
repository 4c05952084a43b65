/** Lines of a running gateway: read for as long as it runs, however long it says nothing. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openContext } from '#cli/context.ts'
import { noGateway, readLines } from '#cli/gateway/operator-lines.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

test('empty lines are null, and no time-out of the runtime ends a silent stream', async () => {
  const context = openContext({ dataDir: tempDirectory(), quiet: true }, {})
  mkdirSync(dirname(context.adminSocket), { recursive: true })
  const server = Bun.serve({
    unix: context.adminSocket,
    fetch: () => new Response('\n{"id":1}\n\n{"id":2}\n'),
  })
  const asked = vi.spyOn(globalThis, 'fetch')
  onTestFinished(async () => {
    asked.mockRestore()
    await server.stop(true)
  })
  const told: unknown[] = []
  for await (const line of readLines(context, '/tail', noGateway(context, ''))) told.push(line)
  expect(told).toEqual([null, { id: 1 }, null, { id: 2 }])
  expect(asked.mock.calls[0]?.[1]).toMatchObject({ timeout: false })
})
