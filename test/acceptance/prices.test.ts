// `models refresh` as an operator types it: the plan, the question, the change in one act, and what is left alone.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type Appliance,
  furnishCli,
  readDatabase,
  startAppliance,
} from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

const cli = openCli()
const file = (name: string, text: string): string => {
  const path = join(cli.home, name)
  writeFileSync(path, text)
  return path
}

interface Plan {
  readonly changes: readonly { readonly model: string; readonly changes: object }[]
  readonly new_models: readonly { readonly model: string }[]
  readonly confirmed: readonly string[]
  readonly missing: readonly string[]
  readonly skipped: readonly { readonly model: string; readonly why: string }[]
  readonly uncovered: readonly string[]
  readonly other_vendors: readonly object[]
}

/** As models.dev publishes it: numbers, and one vendor that nobody here has. */
const API = `{
  "acme": {
    "id": "acme",
    "models": {
      "one": {
        "name": "One",
        "cost": { "input": 1.10, "output": 2.20, "context_over_200k": { "input": 2.2, "output": 4 } }
      },
      "two": { "name": "Two", "cost": { "input": 3, "output": 4 } },
      "odd": { "name": "Odd", "cost": { "input": 3, "output": 4, "reasoning": 9 } },
      "new": {
        "name": "New",
        "cost": { "input": 5e-1, "output": 6, "context_over_200k": { "input": 1, "output": 9 } }
      }
    }
  },
  "elsewhere": { "models": { "x": { "name": "X", "cost": { "input": 1, "output": 1 } } } }
}
`
const api = file('api.json', API)
const prices = (model: string) =>
  cli.json<{ price: { in_usd: string; out_usd: string; cached_in_usd: string | null } }>([
    'models',
    'show',
    model,
  ]).price

beforeAll(() => {
  furnishCli(cli)
  const add = ['providers', 'add', 'acme', '--base-url', 'http://127.0.0.1:9/v1', '--no-key']
  for (const args of [
    [...add, '--no-check'],
    ['models', 'add', 'acme/one', '--in-usd', '1', '--out-usd', '2', '--cached-in-usd', '0.1'],
    ['models', 'add', 'acme/two', '--in-usd', '3', '--out-usd', '4'],
    ['models', 'add', 'acme/odd', '--in-usd', '3', '--out-usd', '4'],
    ['models', 'add', 'acme/gone', '--in-usd', '7', '--out-usd', '8'],
  ]) {
    const { code, err } = cli.run(args)
    expect([args, code === 0 ? 'ran' : err]).toEqual([args, 'ran'])
  }
})
afterAll(() => cli.close())

describe('with the gateway down', () => {
  test('a dry run shows every price that changes, and changes none', () => {
    const { code, out, err } = cli.run(['models', 'refresh', '--from', api, '--dry-run'])
    expect(code).toBe(0)
    expect(out).toMatch(
      /^~ acme\/one {2}price since \S+\n {4}in_usd 1 → 1\.1\n {4}out_usd 2 → 2\.2\n {4}tiers \[\] → \[\{"above_input_tokens":200000,"in_usd":"2\.2","out_usd":"4",.*\n$/,
    )
    expect(err).toBe(
      [
        '! skipped acme/odd: reasoning has another price than the answer',
        '! not in the file, and left as they are: acme/gone',
        'skipped, for there is no such provider here: elsewhere (1 model)',
        '1 new model, which --add-new adds: acme/new',
        '',
      ].join('\n'),
    )
    expect(prices('acme/one').in_usd).toBe('1')
  })

  test('what long prompts of a new model cost is said; a mask that matches nothing is refused', () => {
    const refresh = (...more: readonly string[]) =>
      cli.run(['models', 'refresh', '--from', api, '--dry-run', ...more])
    expect(refresh('--add-new').out).toContain(
      'acme/new  in_usd 0.5, out_usd 6; above 200000 tokens in_usd 1, out_usd 9',
    )
    const { code, err } = refresh('nope/*')
    expect([code, err]).toEqual([2, expect.stringContaining('nope/*')])
  })

  test('it asks first', () => {
    const { code, err } = cli.run(['models', 'refresh', '--from', api])
    expect(code).toBe(5)
    expect(err).toContain('error: refusing to change 1 price without confirmation')
    expect(err).toContain(`hint: gatewayctl models refresh --from ${api} --yes`)
  })

  test('a bad file is refused at its line and field, and changes nothing', () => {
    for (const [text, said] of [
      [API.replace('2.20', '"dear"'), ':7 acme.models.one.cost.output must be a price'],
      [API.replace('"name": "Two",', '"name": "Two"'), ':9 is not JSON'],
      ['[]', null],
      ['[\n{"served_by":"acme"}]', ':2 0.model '],
      ['{}', ':1 is neither a list of entries'],
    ] as const) {
      const bad = file('bad.json', text)
      const { code, err } = cli.run(['models', 'refresh', '--from', bad, '--yes'])
      expect([text, code]).toEqual([text, said === null ? 0 : 2])
      if (said !== null) expect(err).toContain(`error: ${bad}${said}`)
    }
    expect(cli.run(['models', 'refresh', '--from', 'none.json']).err).toBe(
      'error: cannot read none.json: no such file or directory\n',
    )
    expect(prices('acme/one').in_usd).toBe('1')
  })
})

describe('with the gateway up', () => {
  let appliance: Appliance
  beforeAll(async () => {
    appliance = await startAppliance(cli)
  })
  afterAll(() => appliance.kill())

  test('all of it is one act, a new version of each price, and nothing else', async () => {
    const versions = () =>
      readDatabase<{ model_id: string }>(cli, 'SELECT model_id FROM price_versions ORDER BY id')
        .map(({ model_id }) => model_id)
        .filter((id) => id.startsWith('acme/'))
    const before = versions()
    const args = ['models', 'refresh', '--from', api, '--add-new', '--yes', '--json']
    const { code, out } = await cli.runBeside(args)
    expect(code).toBe(0)
    const done = JSON.parse(out) as Plan
    expect(done).toMatchObject({
      changes: [{ model: 'acme/one' }],
      new_models: [
        { model: 'acme/new', tiers: [{ above_input_tokens: 200_000, in_usd: '1', out_usd: '9' }] },
      ],
      confirmed: ['acme/two'],
      missing: ['acme/gone'],
      skipped: [{ model: 'acme/odd' }],
    })
    expect(versions().slice(before.length).toSorted()).toEqual(['acme/new', 'acme/one'])
    expect(prices('acme/one')).toMatchObject({
      in_usd: '1.1',
      out_usd: '2.2',
      // The file has no word for it.
      cached_in_usd: '0.1',
    })
    expect(prices('acme/new').in_usd).toBe('0.5')
    const [act] = await appliance.verb('acts.list', { limit: 1 })
    expect(act).toMatchObject({
      verb: 'models.refresh',
      changed: {
        source: 'file',
        priced: { 'acme/one': { in_usd: { from: '1', to: '1.1' } } },
        added: ['acme/new'],
        confirmed: ['acme/two'],
      },
    })
  })

  test('a second time there is nothing to change, and a mask narrows what is looked at', async () => {
    const { code, err } = await cli.runBeside(['models', 'refresh', 'acme/two', '--from', api])
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/✓ changed nothing; 1 price confirmed\n$/),
    ])
    const all = await cli.runBeside(['models', 'refresh', '--from', '-', '--json', '--dry-run'], {
      stdin: API,
    })
    expect(JSON.parse(all.out)).toMatchObject({ changes: [], new_models: [] })
  })

  test('without a file the catalog of the program is the source', async () => {
    const { out } = await cli.runBeside(['models', 'refresh', '--dry-run', '--json'])
    expect(JSON.parse(out)).toMatchObject({ source: 'shipped', changes: [], uncovered: ['acme'] })
  })

  test('what was confirmed on the way is not changed by another plan', async () => {
    const entries: Parameters<typeof appliance.verb<'models.refresh.plan'>>[1] = {
      entries: [
        {
          served_by: 'acme',
          model: 'two',
          name: 'Two',
          input: ['text'],
          output: ['text'],
          features: [],
          usd_per_million: { input: '9', output: '9' },
        },
      ],
    }
    const { plan } = await appliance.verb('models.refresh.plan', entries)
    await appliance.verb('models.price', { model: 'acme/two', in_usd: '5' })
    await expect(appliance.verb('models.refresh', { ...entries, plan })).rejects.toThrow(
      'something was changed since this was planned',
    )
    expect(prices('acme/two').in_usd).toBe('5')
  })
})
