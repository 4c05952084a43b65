// One process per data directory: a second is refused, and a kill frees it.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { systemClock } from '#domain/clock.ts'
import { startChild } from '#test/support/child.ts'
import { tempDirectory } from '#test/support/temp-directory.ts'

const HOLDER = join(import.meta.dirname, 'children/hold-open.ts')

test('a directory that another process has open is refused, until that process is killed', async () => {
  const dataDir = tempDirectory()
  const holder = startChild(HOLDER, dataDir)
  await holder.says('open')
  await expect(openStore({ dataDir, clock: systemClock })).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringContaining('another gatewayctl process'),
  })
  await holder.kill()
  const store = await openStore({ dataDir, clock: systemClock })
  expect(await store.accounts.list()).toEqual([])
  await store.close()
})

test('one process cannot open it twice either, and a close frees it', async () => {
  const dataDir = tempDirectory()
  const store = await openStore({ dataDir, clock: systemClock })
  await expect(openStore({ dataDir, clock: systemClock })).rejects.toMatchObject({
    code: 'store_unavailable',
  })
  await store.close()
  await (await openStore({ dataDir, clock: systemClock })).close()
})
