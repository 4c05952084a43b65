/** An operator's first hour with the server down: each command as it is typed, its streams and what it changed. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { NOUNS } from '#cli/nouns.ts'
import { LIMITS } from '#domain/limits.ts'
import { readSecret } from '#domain/secret.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { COMMANDS, helpPages } from '#test/support/help-pages.ts'

let cli: CliHarness
const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8)

beforeAll(() => {
  cli = openCli()
})
afterAll(() => cli.close())

describe('init', () => {
  test('prints the first key alone, and keeps everything private', () => {
    const { code, out, err } = cli.run(['init', '--no-input'])
    expect(code).toBe(0)
    expect(readSecret(out.trim())).toBe(out.trim())
    expect(err).toContain('demo/echo')
    expect(err).toContain(
      '  limits    no limit per minute · no daily request limit · no daily ceiling · all models\n' +
        '  to set some: gatewayctl limits set default --rpm 60 --daily-usd 5\n',
    )
    expect(mode(cli.dataDir)).toBe('700')
    for (const file of ['gateway.db', 'lock.db', 'master.key']) {
      expect([file, mode(join(cli.dataDir, file))]).toEqual([file, '600'])
    }
  })

  test('a second time it prints what exists and creates nothing', () => {
    expect(cli.run(['init', '--no-input'])).toMatchObject({ code: 0, out: '' })
    expect(cli.json<unknown[]>(['keys'])).toHaveLength(1)
    expect(cli.json<{ created: unknown[] }>(['init']).created).toEqual([])
  })
})

describe('keys', () => {
  test('create prints exactly the secret; everything else goes to standard error', () => {
    const made = cli.run([
      'keys',
      'create',
      'ci',
      '--rpm',
      '5',
      '--daily-usd',
      '1',
      '--allow',
      'acme/*',
    ])
    expect(made.code).toBe(0)
    expect(made.out).toMatch(/^if-[0-9A-Za-z]{49}\n$/)
    expect(made.err).toContain('! "acme/*" matches no model')
    expect(made.err).toContain('5 req/min · no daily request limit · $1.00/day · acme/*')
    expect(cli.json(['keys', 'show', 'ci'])).toMatchObject({
      name: 'ci',
      rpm_limit: 5,
      rpd_limit: null,
      daily_spend_limit_usd: '1.00',
      allowed_models: ['acme/*'],
      status: 'active',
    })
  })

  test('create prints for shells, files and scripts', () => {
    const env = cli.run(['keys', 'create', 'shell', '--env', '-q'])
    expect(env.out).toMatch(
      /^export OPENAI_BASE_URL=http:\/\/127\.0\.0\.1:4140\/v1\nexport OPENAI_API_KEY=if-\w{49}\n$/,
    )
    expect(env.err).toBe('')
    const file = join(cli.home, 'secret')
    expect(cli.run(['keys', 'create', 'filed', '--out', file]).out).toMatch(/^key_\w+\n$/)
    expect(readFileSync(file, 'utf8')).toMatch(/^if-\w{49}\n$/)
    expect(mode(file)).toBe('600')
    const again = cli.run(['keys', 'create', 'unfiled', '--out', file])
    expect(again).toMatchObject({
      code: 1,
      out: '',
      err: `error: cannot write ${file}: it already exists\n`,
    })
    expect(cli.run(['keys', 'show', 'unfiled']).code).toBe(3)
    const json = cli.json<{ id: string; key: string }>(['keys', 'create', 'scripted'])
    expect(json).toMatchObject({
      id: expect.stringMatching(/^key_/),
      key: expect.stringMatching(/^if-/),
    })
    expect(cli.run(['keys', 'create', 'quiet', '-q']).out).toMatch(/^if-\w{49}\n$/)
  })

  test("the next commands use the key's id, and fit its kind", () => {
    const ownCli = openCli()
    onTestFinished(() => ownCli.close())
    ownCli.run(['init', '--no-input'])
    const { err } = ownCli.run(['keys', 'create', 'ключ 🦊'])
    expect(err).toMatch(/\n {6}gatewayctl keys show key_\w{26}\n$/)
    const manager = ownCli.run(['keys', 'create', 'terraform', '--kind', 'provisioning'])
    expect(manager.err).toContain('  manages the keys of its account, calls no models\n')
    expect(manager.err).toContain(
      "next: curl -H 'Authorization: Bearer if-…' http://127.0.0.1:4140/v1/keys\n",
    )
    expect(manager.err).not.toMatch(/OPENAI|all models/)
    for (const args of [
      ['create', 'other', '--kind', 'provisioning'],
      ['rotate', 'terraform'],
    ]) {
      expect(ownCli.run(['keys', ...args, '--env'])).toEqual({
        code: 2,
        out: '',
        err: 'error: --env prints variables for an application; a provisioning key calls no models\n',
      })
    }
    expect(ownCli.json(['keys', '--kind', 'provisioning'])).toHaveLength(1)
  })

  test('list is TSV in a pipe, newest first, and bare `keys` is the same', () => {
    const { out } = cli.run(['keys', 'list'])
    const rows = out
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'))
    expect(rows.map(([name]) => name)).toEqual([
      'quiet',
      'scripted',
      'filed',
      'shell',
      'ci',
      'default',
    ])
    expect(rows.find(([name]) => name === 'ci')?.slice(3, 10)).toEqual([
      'active',
      '5',
      '',
      '',
      '0/1.00',
      '0/-',
      'acme/*',
    ])
    expect(cli.run(['keys']).out).toBe(out)
    expect(cli.run(['--data-dir', cli.dataDir, 'keys', '-q']).out.split('\n')).toHaveLength(7)
    const byName = cli.run(['keys', '--sort', 'name', '--model', 'acme/m']).out.split('\n')
    expect(byName.map((line) => line.split('\t')[0])).toEqual([
      'ci',
      'default',
      'filed',
      'quiet',
      'scripted',
      'shell',
      '',
    ])
  })

  test('revoke needs --yes, and its name may be reused', () => {
    expect(cli.run(['keys', 'revoke', 'shell', 'filed', '--yes']).code).toBe(0)
    expect(cli.run(['keys', 'revoke', 'shell', '--yes']).code).toBe(0)
    expect(cli.json<{ name: string }[]>(['keys']).map(({ name }) => name)).not.toContain('shell')
    const all = cli.json<{ name: string; status: string }[]>(['keys', '--include-revoked'])
    expect(all.find(({ name }) => name === 'shell')?.status).toBe('revoked')
    cli.run(['keys', 'create', 'shell'])
    expect(cli.json(['keys', 'show', 'shell'])).toMatchObject({ status: 'active' })
    expect(cli.run(['limits', 'set', 'filed', '--rpm', '1']).code).toBe(1)
  })
})

test('limits set prints the changes and changes nothing else', () => {
  cli.run(['keys', 'create', 'worker', '--rpm', '60', '--monthly-usd', '9'])
  const moved = cli.run([
    'limits',
    'set',
    'worker',
    '--rpm',
    '120',
    '--daily-usd',
    '2',
    '--allow',
    'demo/*',
  ])
  expect(moved.out).toBe('worker: rpm 60 → 120, daily-usd none → 2.00, models all → demo/*\n')
  expect(cli.run(['limits', 'set', 'worker', '--daily-usd', 'none', '--allow-all']).out).toBe(
    'worker: daily-usd 2.00 → none, models demo/* → all\n',
  )
  expect(cli.json(['limits', 'show', 'worker'])).toMatchObject({
    rpm_limit: 120,
    daily_spend_limit_usd: null,
    monthly_spend_limit_usd: '9.00',
    allowed_models: null,
  })
  expect(cli.run(['limits', 'set', 'worker', 'nobody', '--rpm', '7']).code).toBe(3)
  expect(cli.json(['limits', 'show', 'worker'])).toMatchObject({ rpm_limit: 120 })
  expect(cli.run(['limits', 'set', 'worker']).code).toBe(2)
})

test('every limit of a key can be typed, and is said wherever its limits are', () => {
  const amounts = LIMITS.filter(({ unit }) => unit !== 'masks')
  const typed = amounts.flatMap(({ flag }, n) => [`--${flag}`, String(90_041 + n)])
  const created = cli.run(['keys', 'create', 'bounded', ...typed, '--allow', 'demo/echo'])
  expect(created.code).toBe(0)
  const shown = ['limits show bounded', 'keys show bounded', 'keys list'].map(
    (words) => cli.run(words.split(' ')).out,
  )
  for (const text of [created.err, ...shown]) {
    for (const [n, { name }] of amounts.entries())
      expect(`${name}: ${text}`).toContain(`${90_041 + n}`)
    expect(text).toContain('demo/echo')
  }
  expect(cli.json(['limits', 'show', 'bounded'])).toMatchObject({
    tpm_limit: 90_043,
    end_user_rpm: 90_047,
    end_user_daily_usd: '90048.00',
    max_output_tokens: 90_049,
  })

  const lifted = cli.run(['limits', 'set', 'bounded', '--max-output-tokens', 'none'])
  expect(lifted.out).toBe('bounded: max-output-tokens 90049 → none\n')
  const zero = cli.run(['limits', 'set', 'bounded', '--max-output-tokens', '0'])
  expect(zero.code).toBe(2)
  expect(zero.err).toContain(
    '--max-output-tokens must be a whole number of at least 1, or "none" (got "0")',
  )
  cli.run(['keys', 'revoke', 'bounded', '-y'])
})

test('a top-up with a reference is applied once', () => {
  expect(cli.run(['balance', 'top-up', '$50', '--ref', 'inv-1', '--note', 'first']).out).toBe(
    'balance $50.00\n',
  )
  const again = cli.run(['balance', 'top-up', '50.00', '--ref', 'inv-1'])
  expect(again).toMatchObject({ code: 0, out: 'balance $50.00\n' })
  expect(again.err).toContain('nothing changed')
  expect(cli.run(['balance', 'top-up', '51', '--ref', 'inv-1']).code).toBe(1)
  expect(cli.json(['balance'])).toMatchObject({ balance_usd: '50.00', balance_rub: 4500 })
  expect(cli.json(['ledger', '--since', '1h'])).toMatchObject([
    { kind: 'top_up', amount_usd: '50.00', ref: 'inv-1', note: 'first', cost_rub: null },
  ])
})

test('rubles are taken at the current rate, exactly, and it is said', () => {
  const before = cli.json<{ rub_per_usd: string; balance_usd: string }>(['balance'])
  expect(before).toMatchObject({ rub_per_usd: '90', balance_usd: '50.00' })
  const moved = cli.run(['balance', 'top-up', '1800rub'])
  expect(moved).toMatchObject({ code: 0, out: 'balance $70.00\n' })
  expect(moved.err).toContain('  1800rub at 90 is $20.00\n')
  const third = cli.run(['balance', 'adjust', '+100.5RUB', '--note', 'rounded once'])
  expect(third.err).toContain('  100.5RUB at 90 is $1.116666667\n')
  cli.run(['balance', 'adjust', '-21.116666667', '--note', 'back', '-y'])
  expect(cli.json(['balance'])).toMatchObject({ balance_usd: '50.00' })
  expect(cli.run(['balance', 'top-up', '1800eur']).code).toBe(2)
})

test('a ceiling in rubles is set in dollars, at the current rate', () => {
  cli.run(['keys', 'create', 'ruble', '--daily-usd', '1800rub'])
  const moved = cli.run(['limits', 'set', 'ruble', '--monthly-usd', '100.5rub'])
  expect(moved).toMatchObject({ code: 0, err: '  100.5rub at 90 is $1.116667\n' })
  expect(cli.json(['limits', 'show', 'ruble'])).toMatchObject({
    daily_spend_limit_usd: '20.00',
    monthly_spend_limit_usd: '1.116667',
  })
  expect(cli.run(['limits', 'set', 'ruble', '--daily-usd', '1800eur']).code).toBe(2)
  cli.run(['keys', 'revoke', 'ruble', '-y'])
})

test('a signed amount is an operand wherever it stands', () => {
  const note = ['--note', '-5 was too much', '-y']
  const taken = cli.run(['balance', 'adjust', '-180rub', ...note])
  expect(taken).toMatchObject({ code: 0, out: 'balance $48.00\n' })
  expect(cli.run(['balance', 'adjust', ...note, '-$5']).out).toBe('balance $43.00\n')
  expect(cli.run(['balance', 'adjust', '+$7', ...note]).out).toBe('balance $50.00\n')
  expect(cli.run(['balance', 'adjust', '-y', '--note', 'two', '-$5', '-$6']).code).toBe(2)
})

test('a large move of the rate asks first', () => {
  expect(cli.run(['rates', 'set', 'USD/RUB', '91.25']).out).toBe(
    'USD/RUB 90 → 91.25 (+1.4%), effective now. Charges already in the ledger keep their rate.\n',
  )
  expect(cli.run(['rates', 'set', 'USD/RUB', '9.125'])).toMatchObject({ code: 5, out: '' })
  expect(cli.run(['rates', 'set', 'USD/RUB', '9.125', '-y']).code).toBe(0)
  expect(cli.run(['rates', 'set', 'USD/RUB', '91.25', '-y']).code).toBe(0)
  expect(cli.run(['rates', 'set', 'EUR/RUB', '91.25']).code).toBe(2)
  // A question about what is refused anyway would be asked for nothing.
  for (const rate of ['-4', '0', '1e3', '1000001']) {
    const { code, err } = cli.run(['rates', 'set', 'USD/RUB', rate])
    expect([rate, code]).toEqual([rate, 2])
    expect(err).toContain(`the rate must be rubles per dollar such as 92.50`)
    expect(err).toContain(`(got "${rate}")`)
  }
  expect(cli.json(['rates'])).toMatchObject({ rub_per_usd: '91.25', set_by_operator: true })
})

test('rates shows the rate in force, and below it those to come', () => {
  for (const [rate, from] of [
    ['93', '2999-12-02T00:00:00Z'],
    ['92', '2999-12-01T00:00:00Z'],
  ] as const) {
    expect(cli.run(['rates', 'set', 'USD/RUB', rate, '--from', from]).code).toBe(0)
  }
  const { out } = cli.run(['rates'])
  expect(out).toMatch(/^USD\/RUB\t91.25\nsince\t\S+\n/)
  expect(out.split('\n').slice(2)).toEqual([
    'from 2999-12-01T00:00:00Z\t92',
    'from 2999-12-02T00:00:00Z\t93',
    '',
  ])
})

test('a rate that never takes effect is refused', () => {
  for (const args of [
    ['rates', 'set', 'USD/RUB', '90'],
    ['models', 'price', 'demo/echo', '--in-usd', '9'],
  ]) {
    const { code, err } = cli.run([...args, '--from', 'never', '-y'])
    expect([args[0], code]).toEqual([args[0], 2])
    expect(err).toContain('--from must be a time such as')
  }
  expect(cli.json(['rates'])).toMatchObject({ rub_per_usd: '91.25' })
})

describe('providers and models', () => {
  test('a credential comes by standard input, file or variable, and is never shown', () => {
    const add = (name: string, flags: string[], stdin = '', env = {}) =>
      cli.run(['providers', 'add', name, '--base-url', 'http://127.0.0.1:9/v1', ...flags], {
        stdin,
        env,
      })
    expect(add('acme', ['--type', 'openai-compatible'], 'sk-x\n').code).toBe(0)
    expect(add('byenv', ['--from-env', 'SOME_KEY'], '', { SOME_KEY: 'sk-y' }).code).toBe(0)
    expect(add('open', ['--no-key']).code).toBe(0)
    expect(add('nothing', [])).toMatchObject({ code: 2, out: '' })
    expect(add('unset', ['--from-env', 'SOME_KEY']).code).toBe(2)
    const both = add('both', ['--from-env', 'SOME_KEY', '--no-key'], '', { SOME_KEY: 'sk-y' })
    expect(both).toMatchObject({
      code: 2,
      err: 'error: --from-env and --no-key cannot be combined\n',
    })
    expect(add('both', ['--key-file', '-', '--from-env', 'SOME_KEY'], 'sk-x').code).toBe(2)
    const own = add('self', [], 'if-something')
    expect(own.code).toBe(2)
    expect(own.err).toContain('it is a key of this gateway')
    expect(cli.run(['providers']).out).toBe(
      [
        'acme\topenai-compatible\tencrypted\t0\t0\thttp://127.0.0.1:9/v1',
        'byenv\topenai-compatible\tencrypted\t0\t0\thttp://127.0.0.1:9/v1',
        'demo\tdemo\tnone\t4\t0\tdemo:',
        'open\topenai-compatible\tnone\t0\t0\thttp://127.0.0.1:9/v1',
        '',
      ].join('\n'),
    )
    expect(readFileSync(join(cli.dataDir, 'gateway.db')).includes('sk-x')).toBe(false)
  })

  test('a model is priced by version, and what is not stated stays', () => {
    const add = ['models', 'add', 'acme/m', '--provider', 'acme', '--upstream', 'gpt-4o']
    expect(cli.run([...add, '--in-usd', '2.5']).code).toBe(2)
    expect(cli.run([...add, '--in-usd', '2.5', '--out-usd', '10']).code).toBe(0)
    expect(cli.run([...add, '--in-usd', '2.5', '--out-usd', '10']).code).toBe(1)
    const priced = cli.run(['models', 'price', 'acme/m', '--in-usd', '3', '--cached-in-usd', '0.3'])
    expect(priced.out).toBe('in $2.5 → $3, cached in none → $0.3 per million tokens\n')
    expect(cli.json(['models', 'show', 'acme/m'])).toMatchObject({
      upstream: 'gpt-4o',
      input_modalities: ['text', 'image'],
      output_modalities: ['text'],
      price: { in_usd: '3', out_usd: '10', cached_in_usd: '0.3', per_image_usd: [] },
    })
  })

  test('the added price is printed with its date, not the current price', () => {
    expect(cli.run(['models', 'add', 'acme/later', '--in-usd', '1', '--out-usd', '2']).code).toBe(0)
    const from = '2999-12-01T00:00:00Z'
    const prices = ['--in-usd', '5', '--out-usd', '6', '--per-image-usd', '0.5']
    const later = cli.run(['models', 'price', 'acme/later', ...prices, '--from', from])
    expect(later.out).toBe(
      `in $1 → $5, out $2 → $6 per million tokens, per image none → $0.5, from ${from}\n`,
    )
    const inForce = cli.json<{ price: { version: string } }>(['models', 'show', 'acme/later'])
    expect(inForce).toMatchObject({ price: { in_usd: '1' } })
    expect(later.err).toMatch(/^✓ priced acme\/later \(\w+\)\n$/)
    expect(later.err).not.toContain(inForce.price.version)
    const drawn = ['--per-image-usd', '512x512=0.02', '--per-image-usd', '1024x1024/high=0.1']
    expect(cli.run(['models', 'price', 'acme/later', ...drawn]).out).toBe(
      'per image none → 512x512 $0.02, 1024x1024/high $0.1\n',
    )
    for (const [typo, words] of [
      ['banana=0.02', 'the size of --per-image-usd must be pixels such as 1024x1024, 512, '],
      ['1024=0.02', '2K, 4K, auto, or * for any (got "1024")'],
      ['1024x1024/hihg=0.02', 'must be low, medium, high, standard, hd, auto, or * for any'],
      ['*/hihg=0.02', '(got "hihg")\n  did you mean high?'],
    ] as const) {
      const { code, err } = cli.run(['models', 'price', 'acme/later', '--per-image-usd', typo])
      expect([typo, code, err]).toEqual([typo, 2, expect.stringContaining(words)])
      expect(err).toContain('gatewayctl apply -f FILE')
    }
    const again = cli.run(['models', 'price', 'acme/later', '--in-usd', '1', '-q'])
    expect(cli.json(['models', 'show', 'acme/later'])).toMatchObject({
      price: { version: again.out.trim() },
    })
  })

  test('tokens of images are priced beside those of text', () => {
    const priced = ['--image-in-usd', '10', '--image-out-usd', '40']
    expect(cli.run(['models', 'add', 'acme/seer', '--in-usd', '5', '--out-usd', '30']).code).toBe(0)
    expect(cli.run(['models', 'price', 'acme/seer', ...priced]).code).toBe(0)
    expect(cli.json(['models', 'show', 'acme/seer'])).toMatchObject({
      price: { in_usd: '5', out_usd: '30', image_in_usd: '10', image_out_usd: '40' },
    })
    // What is not stated stays.
    expect(cli.run(['models', 'price', 'acme/seer', '--in-usd', '6']).code).toBe(0)
    const { out } = cli.run(['models', 'show', 'acme/seer'])
    expect(out).toMatch(/^image in \$\t10$/m)
    expect(out).toMatch(/^image out \$\t40$/m)
  })

  test('a model that generates images is priced per image', () => {
    const prices = ['--per-image-usd', '1024x1024/high=0.19', '--per-image-usd', '512x512=0.02']
    const added = cli.run(['models', 'add', 'acme/pix', ...prices])
    expect(added.code).toBe(0)
    expect(added.err).toContain('text requests cost nothing')
    expect(added.err).toContain('gatewayctl models price acme/pix --in-usd X --out-usd Y')
    const whole = ['--in-usd', '0', '--out-usd', '0', ...prices]
    expect(cli.run(['models', 'add', 'acme/gift', ...whole]).err).not.toContain('costs nothing')
    expect(cli.run(['models', 'remove', 'acme/gift', '--yes']).code).toBe(0)
    expect(cli.json(['models', 'show', 'acme/pix'])).toMatchObject({
      output_modalities: ['text', 'image'],
      price: {
        pricing_model: 'per_image',
        per_image_usd: [
          { resolution: '1024x1024', quality: 'high', usd: '0.19' },
          { resolution: '512x512', quality: '*', usd: '0.02' },
        ],
      },
    })
  })

  test('an unpriced model is listed as such, and doctor reports it', () => {
    expect(cli.run(['models', 'add', 'acme/raw']).err).toContain('requests to it are refused')
    expect(cli.run(['models', 'list', '--unpriced', '-q']).out).toBe('acme/raw\n')
    const { code, out } = cli.run(['doctor'])
    expect(code).toBe(0)
    expect(out).toContain('! 1 of 9 models have no price')
    expect(out).toContain('next: gatewayctl models price acme/raw')
  })

  test('a vendor brings its models from the catalogue', () => {
    const added = cli.run(['providers', 'add', 'groq', '--key-file', '-', '--no-check'], {
      stdin: 'gsk_x',
    })
    expect(added.code).toBe(0)
    expect(added.err).toContain('6 priced models')
    expect(added.err).toContain('! 2 models without a price')
    expect(cli.run(['models', 'list', 'groq/*', '--unpriced', '-q']).out).toBe(
      'groq/groq/compound\ngroq/groq/compound-mini\n',
    )
    expect(cli.run(['providers', 'remove', 'groq']).code).toBe(5)
    expect(cli.run(['providers', 'remove', 'groq', '-y']).code).toBe(0)
    expect(cli.run(['models', 'list', 'groq/*']).out).toBe('')
  })
})

test('doctor finds what others may read, and ends with 6', async () => {
  const { chmodSync } = await import('node:fs')
  chmodSync(join(cli.dataDir, 'master.key'), 0o644)
  const { code, out } = cli.run(['doctor'])
  expect(code).toBe(6)
  expect(out).toContain(`✖ others may read ${join(cli.dataDir, 'master.key')}`)
  expect(out).toContain(`next: chmod -R go= ${cli.dataDir}`)
  chmodSync(join(cli.dataDir, 'master.key'), 0o600)
  expect(cli.run(['doctor', '-q'])).toEqual({ code: 0, out: '', err: '' })
})

describe('help', () => {
  test('every command that is advertised exists, and every one that exists is advertised', () => {
    const front = cli.run([]).out
    expect(cli.run(['help']).out).toBe(front)
    const nouns = [...front.matchAll(/^ {2}(\w+) {2,}/gm)].map((match) => match[1] ?? '')
    expect(nouns).toContain('keys')
    for (const [noun, { code, out }] of helpPages(nouns)) {
      expect([noun, code]).toEqual([noun, 0])
      expect(out).toContain(`Usage: gatewayctl ${noun}`)
    }
    for (const line of front.split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(90)
  })

  test('every command has an example, of flags that it has', () => {
    for (const [words, { out }] of helpPages(COMMANDS)) {
      const [page = '', last = ''] = out.split(/^Examples?:\n/m)
      const examples = last.trimEnd().split('\n')
      const own = examples.filter((line) => line.includes(`gatewayctl ${words.split(' ')[0]}`))
      expect([words, own.length > 0]).toEqual([words, true])
      for (const line of examples) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(105)
      if (!words.includes(' ') && !NOUNS[words]?.command) continue
      for (const line of own) {
        const flags = (line.split(/ [|>&<]/)[0] ?? '').match(/(?<= )--[a-z][a-z-]*/g) ?? []
        const strange = flags.filter((flag) => !new RegExp(`${flag}(?![a-z-])`).test(page))
        expect([line, strange]).toEqual([line, []])
      }
    }
  })

  test('a limit that is not set is printed as none', () => {
    const { out } = cli.run(['keys', 'show', 'default'])
    expect(out).toContain('in progress\t0, no limit\nspent today\t$0, no ceiling\n')
  })

  test('a command shows its own flags', () => {
    const { code, out } = cli.run(['help', 'keys', 'create'])
    expect(code).toBe(0)
    expect(out).toContain('--daily-usd <amount>')
    expect(cli.run(['keys', 'create', '-h']).out).toBe(out)
    expect(cli.run(['help', 'exit-codes']).out).toContain('  5  needs confirmation')
    for (const topic of ['json', 'first-run']) {
      const { code, out } = cli.run(['help', topic])
      expect([topic, code]).toEqual([topic, 0])
      for (const line of out.split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(100)
    }
    expect(cli.run(['help', 'first-run']).out).toContain('gatewayctl serve --demo')
  })
})
