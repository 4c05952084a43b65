// Operators know of each request to which surface it came: in lists, spreadsheets, reports, receipts, explanations, logs and metrics.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { until } from '#test/support/appliance.ts'
import {
  COUNTING,
  type EverySurface,
  openEverySurface,
  SURFACES,
  type SurfaceCase,
} from './every-surface.ts'

interface Asked extends SurfaceCase {
  readonly id: string
  readonly session: string
  /** Of one that was refused. */
  readonly refusedId: string
}

let setup: EverySurface
const asked: Asked[] = []

beforeAll(async () => {
  const flags = ['--metrics-listen', '127.0.0.1:0', '--log', 'json']
  setup = await openEverySurface({ flags })
  const idOf = async (answer: Response): Promise<string> => {
    await answer.text()
    return answer.headers.get('x-generation-id') ?? ''
  }
  for (const one of SURFACES) {
    const session = `talk of ${one.surface}`
    const id = await idOf(await setup.ask(one, {}, { 'session-id': session }))
    const refusedId = await idOf(await setup.ask(one, { model: 'acme/none' }))
    asked.push({ ...one, id, session, refusedId })
  }
  await (await setup.ask(COUNTING)).text()
})
afterAll(() => setup?.close())

function typed(...args: readonly string[]): string {
  const { code, out, err } = setup.cli.run(args)
  if (code !== 0) throw new Error(`gatewayctl ${args.join(' ')} exited ${code}\n${err}`)
  return out
}

test('activity lists it, and only it where it is asked for', () => {
  for (const { surface, id, refusedId, session } of asked) {
    const listed = setup.cli.json<{ id: string; surface: string; session: string | null }[]>([
      'activity',
      'list',
      '--surface',
      surface,
    ])
    expect(listed.map((line) => [line.id, line.surface, line.session])).toEqual([
      [refusedId, surface, null],
      [id, surface, session],
    ])
    expect(typed('activity', 'show', id)).toContain(`surface\t${surface}\nsession\t${session}\n`)
  }
  const all = typed('activity', 'list').trim().split('\n')
  expect(all.map((line) => line.split('\t').at(-1)).toSorted()).toEqual(
    asked.flatMap(({ surface }) => [surface, surface]).toSorted(),
  )
})

test('a spreadsheet has a column of it', () => {
  const [titles = '', ...rows] = typed('activity', 'list', '--csv').trim().split('\n')
  const columns = titles.trim().split(',')
  const cells = rows.map((row) => row.trim().split(','))
  for (const { surface, id, session } of asked) {
    const row = cells.find((one) => one[columns.indexOf('id')] === id)
    expect(row?.[columns.indexOf('surface')]).toBe(surface)
    expect(row?.[columns.indexOf('session')]).toBe(session)
  }
})

test('usage is summed by it, alone and within another', () => {
  for (const flags of [
    ['--by', 'surface'],
    ['--by', 'key', '--then-by', 'surface'],
  ]) {
    const { rows } = setup.cli.json<{ rows: { surface: string; requests: number }[] }>([
      'usage',
      ...flags,
    ])
    expect(rows.map(({ surface, requests }) => [surface, requests]).toSorted()).toEqual(
      asked.map(({ surface }) => [surface, 1]).toSorted(),
    )
  }
})

test('why and the receipt name it', async () => {
  for (const { surface, id, refusedId } of asked) {
    expect(typed('why', refusedId)).toContain(`surface\t${surface}\n`)
    expect(setup.cli.json(['why', refusedId])).toMatchObject({ surface })
    const receipt = await fetch(`${setup.url}/v1/generation?id=${id}`, {
      headers: { authorization: `Bearer ${setup.key}` },
    })
    expect(await receipt.json()).toMatchObject({ id, surface })
  }
})

test('tail shows it, and only it where it is asked for', async () => {
  const child = Bun.spawn([BINARY, 'activity', 'tail', '--json', '--surface', 'rerank'], {
    cwd: setup.cli.home,
    env: setup.cli.env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  onTestFinished(() => child.kill('SIGKILL'))
  let out = ''
  void (async () => {
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) out += piece
  })()
  // Nothing tells from outside that it listens.
  await until(async () => {
    for (const one of SURFACES) await (await setup.ask(one)).text()
    return out.split('\n').length > 2
  }, 'it is told')
  const told = out.split('\n').slice(0, -1)
  expect(new Set(told.map((line) => JSON.parse(line).surface))).toEqual(new Set(['rerank']))
})

test('the log of requests and the metrics have it; what is only counted is in the metrics', async () => {
  for (const { surface, id } of asked) {
    const line = setup.gateway
      .said()
      .split('\n')
      .find((one) => one.includes(id))
    expect(JSON.parse(line ?? '{}')).toMatchObject({ route: surface, surface })
  }
  const url = /"msg":"metrics on (http:[^"]+)/.exec(setup.gateway.said())?.[1] ?? ''
  const metrics = await (await fetch(url)).text()
  for (const { surface } of asked) {
    expect(metrics).toMatch(
      new RegExp(`gateway_requests_total\\{[^}]*status="200"[^}]*surface="${surface}"[^}]*\\} \\d`),
    )
  }
  expect(metrics).toMatch(/gateway_http_responses_total\{route="messages.count",status="200"\} 1\n/)
  expect(metrics).toMatch(/gateway_search_units_total\{model="cohere\/r"\} \d/)
})

test('models are listed by it', () => {
  for (const { surface, body } of SURFACES) {
    const listed = typed('models', 'list', '--surface', surface, '-q').split('\n')
    const isOf = (one: SurfaceCase): boolean => listed.includes(String(one.body['model']))
    expect(isOf({ ...COUNTING, body })).toBe(true)
    const others = SURFACES.filter((one) => isOf(one)).map((one) => one.surface)
    expect(others).toEqual(
      ['embeddings', 'rerank'].includes(surface) ? [surface] : ['chat', 'messages', 'responses'],
    )
  }
})
