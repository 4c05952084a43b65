/** `clients` and `users` as they are typed: what goes to which stream, in which form, what is asked first, what is refused. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStore } from '#db/index.ts'
import { systemClock } from '#domain/clock.ts'
import { BINARY } from '#scripts/compile.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

let cli: CliHarness
let wiki: string

interface Person {
  readonly id: string
  readonly email: string
}

beforeAll(() => {
  cli = openCli()
  cli.run(['init'])
  cli.run(['accounts', 'create', 'acme'])
})
afterAll(() => cli.close())

const CALLBACK = 'https://wiki.example.org/callback'

/** The same command before a person's eyes, without colour. */
async function onTerminal(args: readonly string[]): Promise<string> {
  let shown = ''
  const decoder = new TextDecoder()
  const child = Bun.spawn([BINARY, ...args, '--no-color'], {
    cwd: cli.home,
    env: cli.env,
    terminal: {
      cols: 100,
      rows: 40,
      data: (_terminal, bytes) => {
        shown += decoder.decode(bytes, { stream: true })
      },
    },
  })
  await child.exited
  return shown.replaceAll('\r\n', '\n')
}

/** What is drawn or timed anew each time. */
const settled = (text: string): string =>
  text
    .replace(/usr_\w{26}/g, 'usr_X')
    .replace(/wiki_\w{6}/g, 'wiki_X')
    .replace(/grafana_\w{6}/g, 'grafana_X')
    .replace(/sig_\w{12}/g, 'sig_X')
    .replace(/cs_[\w-]{43}/g, 'cs_X')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')

describe('clients', () => {
  test.each([
    [[], '--redirect-uri must name at least one address that people are sent back to'],
    [
      ['--redirect-uri', 'https:app.example.org/cb'],
      '--redirect-uri "https:app.example.org/cb" is not an absolute address such as https://app.example.org/callback',
    ],
    [['--redirect-uri', 'myapp://cb'], '--redirect-uri "myapp://cb" is neither https nor http'],
    [
      ['--redirect-uri', CALLBACK, '--logout-uri', 'a*b'],
      '--logout-uri "a*b" is not an absolute address such as https://app.example.org/callback',
    ],
  ])('create with %j says which flag is wrong, as it is typed', (flags, why) => {
    expect(cli.run(['clients', 'create', 'Wrong', ...flags])).toEqual({
      code: 2,
      out: '',
      err: `error: ${why}\n`,
    })
  })

  test('create prints the record and its secret once, or the secret alone', () => {
    const made = cli.run(['clients', 'create', 'Wiki', '--redirect-uri', CALLBACK])
    expect(settled(made.out)).toBe(
      'client_id\twiki_X\nclient_secret\tcs_X\nissuer\thttp://127.0.0.1:4141\n',
    )
    expect(made.err).toBe(
      '✓ created client Wiki\nThe secret is shown once; only its hash is stored.\nmetadata: http://127.0.0.1:4141/.well-known/openid-configuration\n',
    )
    wiki = /wiki_\w{6}/.exec(made.out)?.[0] ?? ''
    const quiet = cli.run(['clients', 'create', 'Grafana', '--redirect-uri', CALLBACK, '-q'])
    expect(settled(quiet.out)).toBe('cs_X\n')
    expect(quiet.err).toBe('')
    expect(cli.json(['clients', 'rotate-secret', wiki, '--yes'])).toMatchObject({
      issuer: 'http://127.0.0.1:4141',
    })
  })

  test('a public one has an id and no secret, and keeps PKCE; only it is sent back to a scheme of its own', () => {
    const own = ['--redirect-uri', 'org.example.notes:/callback']
    const made = cli.json(['clients', 'create', 'Notes', '--public', ...own])
    expect(made).toMatchObject({ client_secret: null, public: true, require_pkce: true })
    const { client_id: notes } = made as { readonly client_id: string }
    const quiet = cli.run(['clients', 'create', 'Quiet', '--public', ...own, '-q'])
    expect(quiet.out).toMatch(/^quiet_\w{6}\n$/)
    const shown = cli.run(['clients', 'create', 'Shown', '--public', ...own])
    expect(shown.err + shown.out).not.toContain('secret')
    for (const [args, why] of [
      [['rotate-secret', notes, '-y'], 'has no secret'],
      [['edit', notes, '--no-require-pkce'], 'must stay'],
      [['create', 'Open', '--public', ...own, '--no-require-pkce'], 'must stay'],
      [['create', 'Kept', ...own], 'is neither https nor http: only a public client'],
      [['edit', notes, '--redirect-uri', 'http://notes.lan/', ...own, '-y'], 'cannot be combined'],
    ] as const) {
      const { code, err } = cli.run(['clients', ...args])
      expect([args, code !== 0, err]).toEqual([args, true, expect.stringContaining(why)])
    }
    for (const name of [notes, quiet.out.trim(), 'Shown'])
      cli.run(['clients', 'remove', name, '-y'])
  })

  test('one for devices needs no way back, and is public; any may have an address that is told of sign-outs', () => {
    const made = cli.json(['clients', 'create', 'Shell', '--public', '--device'])
    expect(made).toMatchObject({ device: true, redirect_uris: [], backchannel_logout_uri: null })
    const uri = 'https://shell.example.org/logout'
    const edit = (...flags: string[]) => cli.json(['clients', 'edit', 'Shell', ...flags])
    expect(edit('--backchannel-logout-uri', uri)).toMatchObject({
      backchannel_logout_uri: uri,
      device: true,
    })
    const shown = cli.run(['clients', 'show', 'Shell']).out
    expect(shown).toMatch(/^device\tsigns in on another screen$/m)
    expect(shown).toMatch(new RegExp(`^told of sign-outs\t${uri}$`, 'm'))
    expect(edit('--no-backchannel-logout-uri')).toMatchObject({ backchannel_logout_uri: null })
    expect(edit('--no-id-token-claims')).toMatchObject({ id_token_claims: false })
    expect(cli.run(['clients', 'show', 'Shell']).out).toContain('id token\tno e-mail')
    expect(edit('--id-token-claims')).toMatchObject({ id_token_claims: true })
    for (const [args, why] of [
      [['edit', 'Shell', '--no-device'], 'at least one address'],
      [['create', 'Kept', '--device', '--redirect-uri', CALLBACK], 'is for public clients'],
      [['create', 'Lost', '--public'], 'at least one address'],
      [['edit', 'Shell', '--backchannel-logout-uri', 'http://a.example/'], 'must begin with https'],
    ] as const) {
      const { code, err } = cli.run(['clients', ...args])
      expect([args, code, err]).toEqual([args, 2, expect.stringContaining(why)])
    }
    cli.run(['clients', 'remove', 'Shell', '-y'])
  })

  test('who may enter is named, replaced, and opened to everybody again', () => {
    const edit = (...flags: readonly string[]) =>
      cli.json<{ allowed: unknown }>(['clients', 'edit', 'Grafana', ...flags]).allowed
    expect(edit('--allow', 'staff', '--allow', '@Example.org')).toEqual(['staff', '@example.org'])
    expect(edit('--name', 'Grafana')).toEqual(['staff', '@example.org'])
    expect(cli.run(['clients', 'show', 'Grafana']).out).toContain('staff @example.org')
    expect(cli.json(['groups', 'add', 'staff', 'ann@example.org'])).toMatchObject({
      people: ['ann@example.org'],
      clients: [expect.stringMatching(/^grafana_/)],
    })
    expect(cli.json(['groups', 'remove', 'staff', 'ann@example.org', '--yes'])).toMatchObject({
      people: [],
    })
    expect(edit('--allow', '*')).toBeNull()
    cli.run(['users', 'remove', 'ann@example.org', '--yes'])
    const refused = cli.run(['clients', 'edit', 'Grafana', '--allow', 'Not A Group'])
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--allow')])
    expect(cli.run(['clients', 'edit', 'Grafana', '--allow', '*', '--allow', 'x']).code).toBe(2)
  })

  test('list for a pipe, for a person, as ids, as JSON', async () => {
    expect(settled(cli.run(['clients']).out)).toBe(
      [`Wiki\twiki_X\trequired\t${CALLBACK}`, `Grafana\tgrafana_X\trequired\t${CALLBACK}`, ''].join(
        '\n',
      ),
    )
    expect(settled(await onTerminal(['clients', 'list'])).replace(/ +/g, ' ')).toBe(
      [
        'NAME CLIENT_ID PKCE REDIRECTS',
        `Wiki wiki_X required ${CALLBACK}`,
        `Grafana grafana_X required ${CALLBACK}`,
        '',
      ].join('\n'),
    )
    expect(settled(cli.run(['clients', '-q']).out)).toBe('wiki_X\ngrafana_X\n')
    expect(cli.json(['clients', 'show', 'Wiki'])).toEqual({
      client_id: wiki,
      name: 'Wiki',
      redirect_uris: [CALLBACK],
      logout_uris: [],
      require_pkce: true,
      public: false,
      device: false,
      backchannel_logout_uri: null,
      id_token_claims: true,
      allowed: null,
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
      warnings: [],
    })
  })

  test('edit asks before it takes an address away, and for nothing else', () => {
    const other = 'https://wiki.example.org/other'
    const edit = (...flags: string[]) => cli.run(['clients', 'edit', 'Wiki', ...flags])
    expect(edit()).toMatchObject({
      code: 2,
      err: 'error: no change given\nhint: gatewayctl clients edit Wiki --name NEW\n',
    })
    expect(edit('--redirect-uri', CALLBACK, '--redirect-uri', other).code).toBe(0)
    const refused = edit('--redirect-uri', CALLBACK)
    expect(refused).toEqual({
      code: 5,
      out: '',
      err: `error: refusing to remove ${other} from Wiki without confirmation (stdin is not a terminal)\nhint: gatewayctl clients edit Wiki --redirect-uri ${CALLBACK} --yes\n`,
    })
    expect(edit('--redirect-uri', CALLBACK, '--yes').code).toBe(0)
    expect(cli.json(['clients', 'show', 'Wiki'])).toMatchObject({ redirect_uris: [CALLBACK] })
    const weaker = edit('--pkce', 'optional')
    expect(weaker.err).toContain('! without PKCE, whoever sees a code on its way can use it')
    expect(edit('--pkce', 'maybe')).toMatchObject({ code: 2, out: '' })
    expect(edit('--pkce', 'required').code).toBe(0)
  })

  test('edit takes the flags of create, too', () => {
    const other = 'https://wiki.example.org/other'
    const edit = (...flags: string[]) => cli.run(['clients', 'edit', 'Wiki', ...flags])
    const isNow = () => cli.json(['clients', 'show', 'Wiki'])
    expect(edit('--redirect', other, '--redirect-uri', CALLBACK).code).toBe(0)
    expect(isNow()).toMatchObject({ redirect_uris: [CALLBACK, other] })
    const refused = edit('--redirect', CALLBACK)
    expect([refused.code, refused.out]).toEqual([5, ''])
    expect(refused.err).toContain(`refusing to remove ${other} from Wiki`)
    expect(edit('--redirect', CALLBACK, '-y').code).toBe(0)
    expect(isNow()).toMatchObject({ redirect_uris: [CALLBACK] })

    expect(edit('--no-require-pkce').err).toContain('! without PKCE')
    expect(edit('--name', 'Wiki').code).toBe(0)
    expect(isNow()).toMatchObject({ require_pkce: false })
    expect(edit('--require-pkce').code).toBe(0)
    expect(isNow()).toMatchObject({ require_pkce: true })
    expect(edit('--pkce', 'required', '--no-require-pkce')).toMatchObject({
      code: 2,
      err: 'error: --pkce and --no-require-pkce cannot be combined\n',
    })
  })

  test('destructive commands ask; others do not', () => {
    expect(cli.run(['clients', 'rotate-secret', 'Wiki'])).toEqual({
      code: 5,
      out: '',
      err: `error: refusing to rotate the secret of Wiki without confirmation (stdin is not a terminal)\nhint: gatewayctl clients rotate-secret Wiki --yes\n`,
    })
    expect(cli.run(['clients', 'remove', 'Wiki']).code).toBe(5)
    expect(settled(cli.run(['clients', 'rotate-secret', 'Wiki', '-y', '-q']).out)).toBe('cs_X\n')
    const rotated = cli.run(['clients', 'rotate-signing-key'])
    expect(settled(rotated.out)).toBe('sig_X\n')
    expect(settled(rotated.err)).toBe(
      '✓ ID tokens are signed with a new key\nold keys still published: none\n',
    )
    const again = cli.json<{ kept: string[] }>(['clients', 'rotate-signing-key'])
    expect(again.kept).toEqual([rotated.out.trim()])
    expect(cli.run(['clients', 'remove', 'Grafana', '-y', '-q']).code).toBe(0)
  })

  test('an unknown client is an error with a suggestion, as text and as JSON', () => {
    expect(cli.run(['clients', 'show', 'Wikki'])).toEqual({
      code: 3,
      out: '',
      err: 'error: no client is called "Wikki"\n  did you mean Wiki?\nhint: gatewayctl clients list\n',
    })
    const { code, out, err } = cli.run(['clients', 'show', 'Wikki', '--json'])
    expect([code, out]).toEqual([3, ''])
    expect(JSON.parse(err)).toEqual({
      error: {
        code: 'client_not_found',
        message: 'no client is called "Wikki"; did you mean Wiki?',
        hint: 'gatewayctl clients list',
        exit_code: 3,
      },
    })
    expect(cli.run(['clients', 'create', 'Bad', '--redirect-uri', 'ftp://x']).code).toBe(2)
  })
})

describe('users', () => {
  test('add names the address, the account and the name', () => {
    const ada = cli.run(['users', 'add', 'Ada@Example.org', '--account', 'acme', '--name', 'Ada'])
    expect(settled(ada.out)).toBe(
      [
        'email\tAda@example.org (not verified)',
        'id\tusr_X',
        'name\tAda',
        'account\tacme (owner)',
        'state\tenabled',
        'sessions\t0',
        'last sign-in\t',
        'created\tTIME',
        '',
      ].join('\n'),
    )
    expect(ada.err).toBe('✓ added Ada@example.org\n')
    for (const name of ['bo', 'cy', 'di']) cli.json(['users', 'add', `${name}@example.org`])
    expect(cli.run(['users', 'add', 'ada@example.org'])).toMatchObject({ code: 1, out: '' })
    expect(cli.run(['users', 'add', 'e@example.org', '--account', 'nobody']).code).toBe(3)
  })

  test('list by page and filter, newest first', async () => {
    const names = (...flags: string[]) =>
      cli
        .json<Person[]>(['users', 'list', ...flags])
        .map(({ email }) => email.split('@')[0])
        .join(' ')
    expect(names()).toBe('di cy bo Ada')
    const page = cli.run(['users', 'list', '--limit', '2'])
    const [, last = ''] = page.out.trimEnd().split('\n')
    const id = last.split('\t')[1] ?? ''
    expect(page.err).toBe(
      `! --limit 2 left out 2 more rows\nnext: gatewayctl users list --before ${id}\n`,
    )
    expect(names('--before', id)).toBe('bo Ada')
    expect(names('--before', 'cy@example.org', '--limit', '1')).toBe('bo')
    expect(names('--matching', 'ADA')).toBe('Ada')
    expect(names('--account', 'acme')).toBe('Ada')
    cli.run(['users', 'disable', 'bo@example.org', '-y'])
    expect(names('--disabled')).toBe('bo')
    expect(names('--enabled')).toBe('di cy Ada')
    expect(cli.run(['users', 'list', '--limit', '0']).code).toBe(2)
    expect(cli.run(['users', 'list', '--before', 'nobody@example.org']).code).toBe(3)
    expect(settled(await onTerminal(['users', '--matching', 'a@e'])).replace(/ +/g, ' ')).toBe(
      'EMAIL ID ACCOUNTS STATE LAST SIGN-IN\nAda@example.org usr_X acme (owner) enabled –\n',
    )
    expect(settled(cli.run(['users', '--matching', 'a@e']).out)).toBe(
      'Ada@example.org\tusr_X\tacme (owner)\tenabled\t\n',
    )
  })

  test('what ends something asks first and says what ends', () => {
    for (const [words, act] of [
      ['disable', 'disable cy@example.org'],
      ['remove', 'remove cy@example.org'],
      ['sessions revoke', 'sign cy@example.org out'],
    ] as const) {
      expect(cli.run(['users', ...words.split(' '), 'cy@example.org'])).toEqual({
        code: 5,
        out: '',
        err: `error: refusing to ${act} without confirmation (stdin is not a terminal)\nhint: gatewayctl users ${words} cy@example.org --yes\n`,
      })
    }
    const out = cli.run(['users', 'sessions', 'revoke', 'cy@example.org', '-y'])
    expect(out).toEqual({ code: 0, out: '', err: '✓ signed cy@example.org out of 0 sessions\n' })
    expect(cli.run(['users', 'sessions', 'end', 'cy@example.org']).code).toBe(2)
    expect(cli.run(['users', 'enable', 'bo@example.org']).code).toBe(0)
    expect(cli.json(['users', 'remove', 'bo@example.org', '-y'])).toMatchObject({ removed: true })
    const { code, err } = cli.run(['users', 'show', 'bo@example.org'])
    expect(code).toBe(3)
    expect(err).toContain('error: nobody signs in as "bo@example.org"\n')
  })
})

describe('accounts members add', () => {
  const URL = 'https://id.example.org'
  test.each([
    ['tell them where to sign in', {}],
    [`tell them to sign in at ${URL}/cabinet`, { GATEWAY_AUTH_URL: `${URL}/` }],
    ['tell them where to sign in', { GATEWAY_AUTH_URL: URL, GATEWAY_CABINET: 'off' }],
    ['tell them where to sign in', { GATEWAY_AUTH_URL: URL, GATEWAY_AUTH_LISTEN: 'off' }],
  ])('without a gateway: %s (%j)', (told, env) => {
    const args = ['accounts', 'members', 'add', 'acme', 'mia@example.org', '--role', 'viewer']
    const { code, err } = cli.run(args, { env })
    expect(code).toBe(0)
    expect(err).toMatch(new RegExp(`\n(no mail is sent: ${told})\n$`))
  })

  test('says that somebody who has signed in before gets no mail', async () => {
    const store = await openStore({ dataDir: cli.dataDir, clock: systemClock, masterKey: null })
    await store.signin.people.confirmEmail('mia@example.org', null, systemClock.now(), 0)
    await store.close()
    const args = ['accounts', 'members', 'add', 'default', 'mia@example.org', '--role', 'viewer']
    expect(cli.run(args).err).toMatch(/\nno mail is sent to somebody who has signed in before\n$/)
  })
})
