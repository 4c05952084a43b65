/** What a tail lets through is what the log itself would list. */
import { expect, test } from 'vitest'
import type { ActivityEntry } from '#domain/activity.ts'
import type { ApiKey } from '#domain/key.ts'
import { toFilter } from '#operator/activity.ts'
import { isWanted, tail } from '#operator/tail.ts'
import { aClaim, anActivity } from '#test/support/nouns.ts'
import { restingWatch } from '#test/support/resting-watch.ts'
import { act, openFurnished } from './deps.ts'

const KINDS: readonly Partial<ActivityEntry>[] = [
  {},
  { model: 'demo/lorem', endUser: 'u_7' },
  { provider: 'other' },
  { provider: null, status: 429, code: 'rate_limit_exceeded', endedBy: 'refused' },
  { status: 502, code: 'upstream_error', endedBy: 'upstream', totalMs: 9_000 },
  { status: 499, endedBy: 'client', totalMs: 10_000 },
]

const ANY = {
  account: null,
  key: null,
  model: null,
  provider: null,
  user: null,
  surface: null,
  status: null,
  least_total_ms: null,
  errors: false,
}

test.each([
  [{}, 12],
  [{ key: 'other' }, 6],
  [{ account: 'default' }, 12],
  [{ model: 'demo/lorem' }, 2],
  [{ user: 'u_7' }, 2],
  [{ provider: 'acme' }, 8],
  [{ surface: 'chat' as const }, 12],
  [{ surface: 'messages' as const }, 0],
  [{ status: { least: 429, most: 429 } }, 2],
  [{ status: { least: 400, most: 499 } }, 4],
  [{ least_total_ms: 9_000 }, 4],
  [{ errors: true }, 6],
  [{ errors: true, key: 'default', least_total_ms: 10_000 }, 1],
])('%j', async (stated, count) => {
  const deps = await openFurnished()
  await act(deps, 'keys.create', { name: 'other' })
  const entries: ActivityEntry[] = []
  for (const name of ['default', 'other']) {
    const key = (await deps.store.keys.search(name, 1))[0] as ApiKey
    for (const kind of KINDS) {
      deps.clock.advance(1_000)
      entries.unshift(anActivity(aClaim(key, deps.clock.now()), { model: 'demo/echo', ...kind }))
      deps.store.activity.note(entries[0] as ActivityEntry)
    }
  }
  const filter = await toFilter(deps, { ...ANY, ...stated })
  const listed = await deps.store.activity.list({ ...filter, limit: 99 })
  expect(listed).toHaveLength(count)
  expect(entries.filter((entry) => isWanted(filter, entry))).toEqual(listed)
})

test('while nothing ends, an empty line is sent as a heartbeat', async () => {
  const deps = await openFurnished()
  const { body } = await tail({ ...deps, watch: restingWatch() }, {}, 1)
  const reader = (body ?? new Blob().stream()).getReader()
  for (let line = 0; line < 3; line++) {
    const { value } = await reader.read()
    expect(new TextDecoder().decode(value)).toBe('\n')
  }
  await reader.cancel()
})
