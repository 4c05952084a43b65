/** Accounts, thresholds and deliveries as an operator types them, with the server down: what is printed where, and how it ends. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

const HOOK = 'https://ops.example.org/hook'

let cli: CliHarness

beforeAll(() => {
  cli = openCli()
  cli.run(['init', '--no-input'])
  cli.run(['rates', 'set', 'USD/RUB', '90'])
  cli.run(['balance', 'top-up', '25'])
})
afterAll(() => cli.close())

describe('accounts', () => {
  test('create prints the id, and says what to type next', () => {
    const made = cli.run(['accounts', 'create', 'acme'])
    expect(made.code).toBe(0)
    expect(made.out).toMatch(/^acct_\w+\n$/)
    expect(made.err).toContain('next: gatewayctl balance top-up 50 --account acme')
    expect(cli.json(['accounts', 'create', 'other'])).toMatchObject({ name: 'other' })
    expect(cli.run(['accounts', 'create', 'acme']).code).toBe(1)
    expect(cli.run(['accounts', 'create', '$(x) y']).err).toContain(
      "top-up 50 --account '$(x) y'\n",
    )
    expect(cli.run(['accounts', '-q']).out.split('\n')).toHaveLength(5)
  })

  test('--account selects the account, wherever it stands', () => {
    expect(cli.run(['--account', 'acme', 'balance', 'top-up', '9']).out).toBe('balance $9.00\n')
    expect(cli.run(['balance', '--account', 'acme', '-q']).out).toBe('9.00\n')
    expect(cli.run(['balance', '-q']).out).toBe('25.00\n')
    expect(cli.run(['keys', '--account', 'acme', 'create', 'theirs']).code).toBe(0)
    const names = (args: string[]) =>
      cli.json<{ name: string }[]>(['keys', 'list', ...args]).map(({ name }) => name)
    expect([names([]), names(['--account', 'acme'])]).toEqual([['default'], ['theirs']])
    expect(cli.run(['limits', '--account', 'acme', '-q']).out).toMatch(/^key_\w+\n$/)
    expect(cli.json(['ledger', '--account', 'acme'])).toMatchObject([{ amount_usd: '9.00' }])
    const acme = cli.json<{ keys: number }>(['accounts', 'show', 'acme'])
    expect(acme).toMatchObject({ keys: 1, balance_usd: '9.00', threshold_usd: null })
    // Nothing to print is no line, not an empty one.
    const nothing = { code: 0, out: '', err: '' }
    expect(cli.run(['thresholds', '--account', 'acme', '-q'])).toEqual(nothing)
    expect(cli.run(['thresholds', 'set', '--below', '20', '--account', 'acme']).code).toBe(0)
    expect(cli.run(['thresholds', '--account', 'acme', '-q']).out).toBe('20.00\n')
  })

  test('an unknown account ends with 3 and a suggestion', () => {
    const { code, out, err } = cli.run(['keys', '--account', 'akme'])
    expect([code, out]).toEqual([3, ''])
    expect(err).toContain('did you mean acme?')
    expect(cli.run(['activity', '--account', 'akme'])).toMatchObject({ code: 3, out: '' })
    expect(cli.run(['activity', '--account', 'acme'])).toMatchObject({ code: 0, out: '' })
  })
})

describe('balance adjust', () => {
  test('up needs no confirmation, down does', () => {
    const adjust = (amount: string, ...more: string[]) =>
      cli.run(['balance', 'adjust', amount, '--note', "May's bill", '--account', 'other', ...more])
    expect(adjust('+2.50')).toMatchObject({ code: 0, out: 'balance $2.50\n' })
    const refused = adjust('-1')
    expect(refused).toMatchObject({ code: 5, out: '' })
    expect(refused.err).toContain(
      `gatewayctl balance adjust -1 --note 'May'\\''s bill' --account other --yes`,
    )
    expect(adjust('-1', '--yes')).toMatchObject({ code: 0, out: 'balance $1.50\n' })
    expect(adjust('-0.25', '-y', '-q').out).toMatch(/^led_\w+\n$/)
    expect(cli.json(['ledger', '--account', 'other', '--kind', 'adjust'])).toMatchObject([
      { amount_usd: '-0.25', note: "May's bill" },
      { amount_usd: '-1.00' },
      { amount_usd: '2.50' },
    ])
  })

  test.each([
    ['without a sign', ['2.50', '--note', 'n']],
    ['without a reason', ['+2.50']],
    ['of nothing', ['+0', '--note', 'n']],
    ['of words', ['+ten', '--note', 'n']],
  ])('%s is a usage error', (_, args) => {
    expect(cli.run(['balance', 'adjust', ...args])).toMatchObject({ code: 2, out: '' })
  })
})

describe('thresholds', () => {
  test('set prints the changes, and warns when no channel is set', () => {
    const set = cli.run(['thresholds', 'set', '--below', '$20'])
    expect(set).toMatchObject({ code: 0, out: 'default: below none → $20.00\n' })
    expect(set.err).toContain('! nobody will be notified')
    expect(cli.run(['thresholds', 'set', '--below', '20.00']).out).toBe(
      'default: nothing changed\n',
    )
    expect(cli.run(['thresholds', 'set'])).toMatchObject({ code: 2, out: '' })
  })

  test('a webhook’s secret is all that is printed when it is made, and never printed again', () => {
    const made = cli.run(['thresholds', 'set', '--webhook', HOOK])
    expect(made.code).toBe(0)
    expect(made.out).toMatch(/^whsec_[A-Za-z0-9+/]{43}=\n$/)
    expect(made.err).toContain(`✓ default: webhook none → ${HOOK}`)
    const again = cli.run(['thresholds', 'set', '--webhook', `${HOOK}2`])
    expect(again.out).toBe(`default: webhook ${HOOK} → ${HOOK}2\n`)
    const rotated = cli.run(['thresholds', 'set', '--rotate-secret', '-q'])
    expect(rotated.out).toMatch(/^whsec_/)
    expect(rotated.out).not.toBe(made.out)
    expect(rotated.err).toBe('')
    expect(cli.json(['thresholds'])).not.toHaveProperty('webhook_secret')
    cli.run(['thresholds', 'set', '--webhook', HOOK])
  })

  test.each([
    ['--webhook', 'http://ops.example.org/'],
    ['--webhook', 'http://127.0.0.1:9/'],
    ['--email', 'ops@example.org, other@example.org'],
    ['--below', '-1'],
  ])('%s %s is a usage error', (flag, value) => {
    expect(cli.run(['thresholds', 'set', flag, value])).toMatchObject({ code: 2, out: '' })
  })

  test('a webhook to this machine needs the variable', () => {
    const env = { GATEWAY_ALLOW_LOOPBACK_WEBHOOKS: '1' }
    const args = ['thresholds', 'set', '--webhook', 'http://127.0.0.1:9/', '--account', 'other']
    expect(cli.run(args, { env }).code).toBe(0)
    expect(cli.run(['thresholds', 'set', '--webhook', 'none', '--account', 'other']).code).toBe(0)
  })

  test('status and doctor show it', () => {
    cli.run(['thresholds', 'set', '--email', 'ops@example.org'])
    cli.run(['balance', 'adjust', '-6', '--note', 'n', '-y'])
    const status = cli.run(['status']).out
    expect(status).toContain('balance default $19.00, acme $9.00, other $1.25')
    expect(status).toContain('alert below default $20.00 (low, notified ')
    expect(cli.run(['doctor']).out).toContain('! account default has an e-mail for notices')
    const env = { GATEWAY_SMTP_URL: 'smtp://127.0.0.1:1' }
    expect(cli.run(['doctor'], { env }).out).toContain(
      '✓ account default: below $20.00 notifies by email and webhook',
    )
    const low = cli.run(['thresholds']).out
    expect(low).toMatch(/^low\tyes, notified .*Z\)$/m)
  })
})

describe('deliveries', () => {
  interface Delivery {
    readonly event_id: string
    readonly channel: string
    readonly state: string
    readonly test: boolean
  }
  const list = (...args: string[]) => cli.json<Delivery[]>(['deliveries', 'list', ...args])

  test('a fall is listed once by each channel, and shown with what it says', () => {
    const [email, webhook, ...more] = list()
    expect(more).toEqual([])
    expect(email).toMatchObject({ channel: 'email', state: 'pending', test: false })
    expect(webhook).toMatchObject({ channel: 'webhook', event_id: email?.event_id })
    const shown = cli.json(['deliveries', 'show', email?.event_id ?? ''])
    expect(shown).toMatchObject({
      body: { data: { balance_usd: '19.00', balance_rub: 1710, threshold_usd: '20.00' } },
    })
    expect(cli.run(['deliveries']).out.split('\n')[0]?.split('\t').slice(1, 6)).toEqual([
      email?.event_id ?? '',
      'gateway.low_balance',
      'email',
      'pending',
      '0',
    ])
    expect(list('--account', 'acme')).toEqual([])
    expect(cli.run(['deliveries', '--state', 'lost']).code).toBe(2)
  })

  test('a test with no gateway running waits for one, and ends with 4', () => {
    const tested = cli.run(['thresholds', 'test', 'webhook'])
    expect(tested.code).toBe(4)
    expect(tested.out).toMatch(/^evt_\w+\n$/)
    expect(tested.err).toContain('the test will be sent when one runs')
    expect(list()[0]).toMatchObject({ channel: 'webhook', test: true, state: 'pending' })
    expect(cli.run(['thresholds', 'test', 'pigeon']).code).toBe(2)
    expect(cli.run(['thresholds', 'test', '--account', 'acme']).code).toBe(2)
  })

  test('one is sent again by its id', () => {
    const { event_id: event } = list().find((one) => !one.test) ?? { event_id: '' }
    const again = cli.run(['deliveries', 'redeliver', event, 'email'])
    expect(again).toMatchObject({ code: 0, out: `${event}\n` })
    expect(again.err).toContain('will be sent again when a gateway runs by email')
    expect(cli.run(['deliveries', 'redeliver', 'evt_x']).code).toBe(3)
    expect(cli.run(['deliveries', 'show', 'evt_x']).code).toBe(3)
  })
})
