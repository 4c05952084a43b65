/** The log of acts on the compiled binary: who did what, with the server up, with it down, and over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Appliance, furnishCli, startAppliance } from '#test/support/appliance.ts'
import { openCli } from '#test/support/cli-harness.ts'

const cli = openCli()
let gateway: Appliance

/** By the system's own tool; the desk's environment names nobody. */
const [UID, NAME] = ['-u', '-un'].map((flag) =>
  Bun.spawnSync(['id', flag]).stdout.toString().trim(),
)
const WHO = `uid ${UID} (${NAME})`

beforeAll(async () => {
  furnishCli(cli)
  gateway = await startAppliance(cli)
})

afterAll(async () => {
  await gateway?.kill()
  cli.close()
})

interface Act {
  readonly id: string
  readonly who: string
  readonly verb: string
  readonly target: string
  readonly changed: Readonly<Record<string, unknown>>
}

const acts = (...flags: readonly string[]): readonly Act[] =>
  cli.json<Act[]>(['activity', 'list', '--admin', ...flags])

const lines = (...args: readonly string[]): readonly string[] =>
  cli
    .run(args)
    .out.split('\n')
    .filter((line) => line !== '')

test('what was done before the server came up is there, under the user who typed it', () => {
  expect(acts().map(({ verb, who }) => [verb, who])).toEqual([
    ['balance.top-up', WHO],
    ['rates.set', WHO],
    // One for each thing that `init` makes.
    ['keys.create', WHO],
    ['init', WHO],
    ['init', WHO],
  ])
})

describe('with the server up', () => {
  test('an act is recorded with who, when and what, without the secret', () => {
    const secret = cli
      .run(['keys', 'create', 'web', '--rpm', '60', '--note', 'a, "note"'])
      .out.trim()
    cli.run(['limits', 'set', 'web', '--rpm', '120'])
    const [limits, created] = acts('--limit', '2')
    expect(limits).toMatchObject({
      who: WHO,
      verb: 'limits.set',
      target: created?.target,
      changed: { rpm_limit: { from: 60, to: 120 } },
    })
    expect(created).toMatchObject({ verb: 'keys.create', changed: { name: 'web', rpm_limit: 60 } })
    const everything = cli.run(['activity', '--admin', '--csv']).out
    expect(everything).not.toContain(secret)
    const [line = ''] = lines('activity', 'list', '--admin', '--limit', '1')
    expect(line.split('\t').slice(1)).toEqual([
      WHO,
      'limits.set',
      limits?.target,
      '{"rpm_limit":{"from":60,"to":120}}',
    ])
    expect(lines('activity', '--admin', '-q', '--limit', '1')).toEqual([limits?.id])
  })

  test('whatever the environment claims', () => {
    cli.run(['rates', 'set', 'USD/RUB', '90.5'], { env: { USER: 'mallory', LOGNAME: 'mallory' } })
    expect(acts('--limit', '1')[0]?.who).toBe(WHO)
  })

  test('under sudo it is both, and a name of another script survives the way', () => {
    cli.run(['rates', 'set', 'USD/RUB', '91'], { env: { SUDO_USER: 'аня ☃' } })
    expect(acts('--limit', '1')[0]?.who).toBe(`${WHO} for аня ☃`)
  })

  test('for a spreadsheet each act is one line', () => {
    const [header, first = ''] = lines('activity', '--admin', '--csv', '--limit', '1')
    expect(header).toBe('at,id,who,verb,target,changed')
    expect(first).toMatch(/^[^,]+,act_[^,]+,[^,]+,rates\.set,USD\/RUB,"\{""rub_per_usd"":/)
    expect(lines('activity', '--admin', '--csv', '--since', '0s')).toEqual([header])
    expect(lines('activity', '--admin', '--csv', '--until', 'month')).toEqual([header])
  })

  test('a provisioning key acts under its own id', async () => {
    const admin = cli.json<{ id: string; key: string }>([
      'keys',
      'create',
      'boss',
      '--kind',
      'provisioning',
    ])
    const made = await fetch(`${gateway.url}/v1/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'minted' }),
    })
    expect(made.status).toBe(201)
    const { id } = (await made.json()) as { id: string }
    expect(acts('--limit', '1')).toMatchObject([
      { who: admin.id, verb: 'keys.create', target: id, changed: { name: 'minted' } },
    ])
  })

  test('a caller on the socket without a name is unknown', async () => {
    await gateway.verb('rates.set', { pair: 'USD/RUB', rub_per_usd: '92' })
    expect(acts('--limit', '1')[0]?.who).toBe('unknown')
  })

  test.each([[['--key', 'web']], [['--errors']], [['--status', '4xx']], [['--csv', '--json']]])(
    'does not understand %j',
    (flags) => {
      expect(cli.run(['activity', 'list', '--admin', ...flags])).toMatchObject({
        code: 2,
        out: '',
      })
    },
  )
})

test('refused and read-only commands are no acts; a kill loses no act', async () => {
  const before = acts('--limit', '1000')
  cli.run(['keys', 'list'])
  cli.run(['doctor'])
  cli.run(['keys', 'revoke', 'nobody', '--yes'])
  expect(cli.run(['keys', 'revoke', 'web', '--yes']).code).toBe(0)
  await gateway.kill()
  const after = acts('--limit', '1000')
  expect(after.slice(1)).toEqual(before)
  expect(after[0]).toMatchObject({ verb: 'keys.revoke', who: WHO, changed: { status: 'revoked' } })
})
