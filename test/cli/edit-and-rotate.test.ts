/** `keys edit` and `keys rotate` as they are typed: what goes to which stream, what is asked first, what is refused. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

let cli: CliHarness

beforeAll(() => {
  cli = openCli()
  cli.run(['init'])
})
afterAll(() => cli.close())

const SECRET = /^if-[0-9A-Za-z]{49}\n$/

/** Who a secret belongs to, told from standard input. */
const ownerOf = (secret: string): string =>
  cli.run(['keys', 'show', '--secret-stdin', '-q'], { stdin: secret }).out.trim()

describe('edit', () => {
  test('prints the changes in one line, and nothing else', () => {
    const { id } = cli.json<{ id: string }>(['keys', 'create', 'ci'])
    const edit = (...flags: string[]) => cli.run(['keys', 'edit', id, ...flags])
    expect(edit('--name', 'build', '--note', 'for CI')).toEqual({
      code: 0,
      out: 'build: name ci → build, note none → for CI\n',
      err: '',
    })
    expect(edit('--disable').out).toBe('build: disabled\n')
    expect(cli.json(['keys', 'show', 'build'])).toMatchObject({ status: 'disabled' })
    expect(edit('--disable').out).toBe('build: nothing changed\n')
    expect(edit('--enable', '--note', '').out).toBe('build: note for CI → none, enabled\n')
    expect(edit('--expires', '2099-12-01T00:00:00Z').out).toBe(
      'build: expires never → 2099-12-01T00:00:00Z\n',
    )
    expect(edit('--expires', 'never').out).toBe('build: expires 2099-12-01T00:00:00Z → never\n')
    expect(edit('--name', 'ci', '-q').out).toBe(`${id}\n`)
    expect(cli.json(['keys', 'edit', id, '--name', 'ci'])).toMatchObject({
      id,
      name: 'ci',
      note: null,
      changes: [],
      warnings: [],
    })
    expect(edit('--name', 'default').err).toBe(
      '! another key is called "default" too; tell them apart by id\n',
    )
    edit('--name', 'ci')
  })

  test.each([
    [[], 'no change given'],
    [['--disable', '--enable'], '--disable and --enable cannot be combined'],
    [['--name', ''], '--name must be a text of 1 to 128 characters'],
    [['--expires', '2001-01-01T00:00:00Z'], '--expires must be a time in the future'],
    [['--expires', 'soon'], '--expires must be a time such as'],
    [['--rpm', '5'], "unknown option '--rpm'"],
  ])('%j is refused', (flags, words) => {
    const refused = cli.run(['keys', 'edit', 'ci', ...flags])
    expect([refused.code, refused.out]).toEqual([2, ''])
    expect(refused.err).toContain(words)
  })
})

describe('rotate', () => {
  test('prints exactly the new secret; the old one works on until its grace ends', () => {
    const made = cli.json<{ id: string; key: string }>(['keys', 'create', 'rotated', '--rpm', '5'])
    const { code, out, err } = cli.run(['keys', 'rotate', 'rotated'])
    expect(code).toBe(0)
    expect(out).toMatch(SECRET)
    expect(err).toContain(`✓ rotated key rotated (${made.id})`)
    expect(err).toMatch(
      / {2}the old secret works until \d{4}-\d\d-\d\dT[\d:.]+Z; deploy the new one before/,
    )
    expect(err).toContain('Shown once')
    expect(err).not.toContain(out.trim())
    for (const secret of [made.key, out]) expect(ownerOf(secret)).toBe(made.id)
    const { earlier_secrets_until: until, ...json } = cli.json<Record<string, string>>([
      'keys',
      'rotate',
      'rotated',
      '--grace',
      '90s',
    ])
    expect(json).toMatchObject({ id: made.id, key: expect.stringMatching(/^if-/), rpm_limit: 5 })
    const restMs = Date.parse(until ?? '') - Date.now()
    expect(restMs).toBeGreaterThan(60_000)
    expect(restMs).toBeLessThanOrEqual(90_000)
    expect(cli.run(['keys', 'rotate', 'rotated', '-q'])).toMatchObject({
      out: expect.stringMatching(SECRET),
      err: '',
    })
  })

  test('without grace asks first, and then invalidates every older secret', () => {
    const { id, key } = cli.json<{ id: string; key: string }>(['keys', 'create', 'sudden'])
    const refused = cli.run(['keys', 'rotate', 'sudden', '--grace', '0'])
    expect(refused).toMatchObject({ code: 5, out: '' })
    expect(refused.err).toContain('refusing to rotate sudden without grace without confirmation')
    expect(refused.err).toContain('hint: gatewayctl keys rotate sudden --grace 0 --yes')
    expect(ownerOf(key)).toBe(id)
    const { out, err } = cli.run(['keys', 'rotate', 'sudden', '--grace', '0', '--yes'])
    expect(err).toContain('the old secret is refused from now on')
    expect(ownerOf(key)).toBe('')
    expect(ownerOf(out)).toBe(id)
  })

  test('prints for shells and files, and loses no secret to an unwritable file', () => {
    const { id, key } = cli.json<{ id: string; key: string }>(['keys', 'create', 'filed'])
    expect(cli.run(['keys', 'rotate', 'filed', '--env']).out).toMatch(
      /^export OPENAI_BASE_URL=http:\/\/127\.0\.0\.1:4140\/v1\nexport OPENAI_API_KEY=if-\w{49}\n$/,
    )
    const file = join(cli.home, 'rotated-secret')
    expect(cli.run(['keys', 'rotate', 'filed', '--out', file]).out).toBe(`${id}\n`)
    const kept = readFileSync(file, 'utf8')
    expect(kept).toMatch(SECRET)
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
    const again = cli.run(['keys', 'rotate', 'filed', '--grace', '0', '-y', '--out', file])
    expect(again).toMatchObject({
      code: 1,
      out: '',
      err: `error: cannot write ${file}: it already exists\n`,
    })
    for (const secret of [key, kept]) expect(ownerOf(secret)).toBe(id)
  })

  test.each([['1'], ['-1s'], ['soon'], ['366d'], ['1.5h']])('a grace of %s is refused', (grace) => {
    const { key } = cli.json<{ key: string }>(['keys', 'create', `grace ${grace}`])
    const { code, out } = cli.run(['keys', 'rotate', `grace ${grace}`, `--grace=${grace}`, '-y'])
    expect([code, out]).toEqual([2, ''])
    expect(ownerOf(key)).toMatch(/^key_/)
  })

  test('an unknown key is 3, a revoked one 1', () => {
    expect(cli.run(['keys', 'rotate', 'nobody'])).toMatchObject({ code: 3, out: '' })
    cli.run(['keys', 'create', 'gone'])
    cli.run(['keys', 'revoke', 'gone', '-y'])
    expect(cli.run(['keys', 'rotate', 'gone'])).toMatchObject({ code: 1, out: '' })
    expect(cli.run(['keys', 'edit', 'gone', '--enable'])).toMatchObject({ code: 1, out: '' })
  })
})

test('both are on the page of their noun', () => {
  const { out } = cli.run(['keys', '--help'])
  for (const verb of ['edit', 'rotate']) expect(out).toMatch(new RegExp(`^ {2}${verb} `, 'm'))
  expect(cli.run(['help', 'keys', 'rotate']).out).toContain('(default: "24h")')
})
