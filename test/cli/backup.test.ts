/** Backups as an operator takes them and goes back to them: files, names, refusals, and what is printed. */
import { Database } from 'bun:sqlite'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { MIGRATIONS } from '#db/sqlite/migrations/index.ts'
import { furnishCli, startAppliance, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

let cli: CliHarness
beforeAll(() => {
  cli = furnishCli(openCli(), '20')
})
afterAll(() => cli.close())

interface Backup {
  readonly file: string
  readonly verified: boolean
  readonly removed: readonly string[]
}

const place = (name: string): string => join(cli.home, name)
const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const filesIn = (directory: string): readonly string[] =>
  readdirSync(directory)
    .map((name) => join(directory, name))
    .toSorted()

describe('backup', () => {
  test('prints the file alone; it is private, and whole by itself', () => {
    const { code, out, err } = cli.run(['backup', 'one.db'])
    expect({ code, out }).toEqual({ code: 0, out: `${place('one.db')}\n` })
    expect(err).toMatch(
      /^✓ backup taken: \d+ kB, schema \d+\n {2}the master key is not included: back it up separately\n$/,
    )
    expect(mode(place('one.db'))).toBe('600')
    expect(readdirSync(cli.home).filter((name) => name.startsWith('one'))).toEqual(['one.db'])
    expect(
      readFileSync(place('one.db')).includes(readFileSync(join(cli.dataDir, 'master.key'))),
    ).toBe(false)
  })

  test('records an act with operator and file', () => {
    const [act] = cli.json<{ verb: string; target: string }[]>(['activity', 'list', '--admin'])
    expect(act).toMatchObject({ verb: 'backup', target: place('one.db') })
  })

  test('is shown by status', () => {
    expect(cli.run(['status']).out).toMatch(
      /^data {7}\S+ {3}\S+ kB {3}schema \d+ {3}last backup (now|\d+s ago)$/m,
    )
    const unsaved = furnishCli(openCli())
    expect(unsaved.run(['status']).out).toMatch(/^data .* no backup yet$/m)
    unsaved.close()
  })

  test('without a name it goes into the data directory, with --keep the oldest make room', () => {
    const taken = [1, 2, 3].map(() => cli.json<Backup>(['backup', '--verify']))
    expect(taken[0]).toMatchObject({ verified: true, removed: [] })
    const directory = join(cli.dataDir, 'backups')
    writeFileSync(join(directory, 'mine.db'), '')
    expect(mode(directory)).toBe('700')
    const last = cli.json<Backup>(['backup', '--keep', '2'])
    expect(last.removed).toEqual(taken.slice(0, 2).map(({ file }) => file))
    expect(readdirSync(directory).toSorted()).toEqual(
      [taken[2]?.file ?? '', last.file]
        .map((file) => file.slice(directory.length + 1))
        .concat('mine.db')
        .toSorted(),
    )
    expect(cli.run(['backup', directory, '-q']).out).toMatch(
      /backups\/gateway-\d{8}T(?:\d{6}|\d{9})Z\.db\n$/,
    )
  })

  test('of several at once with --keep each is taken, whichever makes room', async () => {
    const directory = place('crowded')
    mkdirSync(directory)
    for (let n = 100; n < 1000; n++) {
      writeFileSync(join(directory, `gateway-20250101T000000${n}Z.db`), '')
    }
    const command = ['backup', directory, '--keep', '20']
    const ended = await Promise.all([1, 2, 3, 4].map(() => cli.runBeside(command)))
    expect(ended.map(({ code, err }) => (code === 0 ? code : err))).toEqual([0, 0, 0, 0])
  })

  test('with --keep no backup makes room that another command is at still', async () => {
    const other = furnishCli(openCli())
    const gateway = await startAppliance(other)
    try {
      const directory = join(other.home, 'beside')
      mkdirSync(directory)
      const old = [1, 2].map((n) => join(directory, `gateway-20250101T00000000${n}Z.db`))
      // Once it has made room, a command waits until the gateway has recorded its backup.
      process.kill(gateway.pid, 'SIGSTOP')
      const commands = []
      for (const file of old) {
        writeFileSync(file, '')
        commands.push(other.runBeside(['backup', directory, '--keep', '1', '--json']))
        await until(() => !existsSync(file), 'a backup has made room', 30_000)
      }
      process.kill(gateway.pid, 'SIGCONT')
      const ended = await Promise.all(commands)
      expect(ended.map(({ code, err }) => (code === 0 ? code : err))).toEqual([0, 0])
      const taken = ended.map(({ out }) => JSON.parse(out) as Backup)
      expect(taken.map(({ removed }) => removed)).toEqual(old.map((file) => [file]))
      expect(filesIn(directory)).toEqual(taken.map(({ file }) => file).toSorted())
      const last = other.json<Backup>(['backup', directory, '--keep', '1'])
      expect(filesIn(directory)).toEqual([last.file])
    } finally {
      await gateway.kill()
      other.close()
    }
  })

  test('with --keep a backup makes room that a command was at which was killed a day ago', () => {
    const directory = place('killed')
    mkdirSync(directory)
    const old = join(directory, 'gateway-20250101T000000001Z.db')
    const mark = `${old}.taken.77.partial`
    for (const file of [old, mark]) writeFileSync(file, '')
    expect(cli.json<Backup>(['backup', directory, '--keep', '1']).removed).toEqual([])
    const longAgo = statSync(directory).mtimeMs / 1_000 - 90_000
    utimesSync(mark, longAgo, longAgo)
    const last = cli.json<Backup>(['backup', directory, '--keep', '1'])
    expect(last.removed).toContain(old)
    expect(filesIn(directory)).toEqual([last.file])
  })

  test('with --keep the backup just taken stays, though the clock is behind the others', () => {
    const directory = place('from-the-future')
    mkdirSync(directory)
    const ahead = ['gateway-20990101T000000000Z.db', 'gateway-20990102T000000000Z.db']
    for (const name of ahead) writeFileSync(join(directory, name), '')
    const { file, removed } = cli.json<Backup>(['backup', directory, '--keep', '2'])
    expect(removed).toEqual([join(directory, ahead[0] ?? '')])
    expect(readdirSync(directory).toSorted()).toEqual(
      [file.slice(directory.length + 1), ahead[1]].toSorted(),
    )
  })

  test('with --keep an old one that cannot be removed is named, and so is the backup that is whole', () => {
    const directory = place('stuck')
    const old = join(directory, 'gateway-20250101T000000000Z.db')
    mkdirSync(old, { recursive: true })
    const { code, err } = cli.run(['backup', directory, '--keep', '1'])
    const [taken = ''] = readdirSync(directory).filter((name) => join(directory, name) !== old)
    expect(code).toBe(1)
    expect(err).toContain(
      `error: ${join(directory, taken)} is whole, but ${old} cannot be removed: `,
    )
  })

  test('leftovers of a killed backup are removed after a day', () => {
    const directory = place('swept')
    mkdirSync(directory)
    for (const name of ['old.db.77.partial', 'new.db.78.partial', 'old.partial']) {
      writeFileSync(join(directory, name), '')
    }
    const longAgo = statSync(directory).mtimeMs / 1_000 - 90_000
    for (const name of ['old.db.77.partial', 'old.partial']) {
      utimesSync(join(directory, name), longAgo, longAgo)
    }
    expect(cli.run(['backup', directory]).code).toBe(0)
    expect(
      readdirSync(directory)
        .filter((name) => name.endsWith('partial'))
        .toSorted(),
    ).toEqual(['new.db.78.partial', 'old.partial'])
  })

  test.each([
    [['backup', 'one.db'], 1, /^error: cannot write .*\/one\.db: it already exists\n$/],
    [['backup', 'nowhere/'], 1, /^error: cannot write .*\/nowhere: no such directory\n$/],
    [
      ['backup', 'nowhere/new.db'],
      1,
      /^error: cannot write .*\/nowhere\/new\.db: no such directory\n$/,
    ],
    [
      ['backup', 'one.db/new.db'],
      1,
      /^error: cannot write .*\/one\.db\/new\.db: a part of this path is a file\n$/,
    ],
    [
      ['backup', 'two.db', '--keep', '3'],
      2,
      /^error: --keep needs a directory, but .*two\.db does not exist\nhint: mkdir .*two\.db\n$/,
    ],
    [['backup', '--keep', '0'], 2, /--keep must be a whole number of at least 1/],
    [['backup', '--confirm', 'gateway.db'], 2, /^error: --confirm requires --restore\n$/],
    [
      ['backup', '--restore', 'one.db', '--verify'],
      2,
      /--restore can be combined only with --confirm/,
    ],
    [
      ['backup', '--data-dir', 'empty'],
      1,
      /^error: there is no gateway in .*\/empty\nhint: gatewayctl --data-dir empty init\n$/,
    ],
  ])('%j ends with %i', (args, code, words) => {
    const ended = cli.run(args)
    expect({ code: ended.code, out: ended.out }).toEqual({ code, out: '' })
    expect(ended.err).toMatch(words)
  })

  test('a database whose sums are wrong is copied, and --verify says so', () => {
    const other = openCli()
    try {
      furnishCli(other, '20')
      const database = new Database(join(other.dataDir, 'gateway.db'))
      database.run('UPDATE accounts SET balance_nanos = balance_nanos - 1')
      database.close(true)
      const { code, err } = other.run(['backup', 'wrong.db', '--verify'])
      expect(code).toBe(1)
      expect(err).toContain('  1 sums do not match its ledger\nhint: gatewayctl audit\n')
      expect(other.run(['backup', 'as-it-is.db']).code).toBe(0)
    } finally {
      other.close()
    }
  })

  test('of an older schema it is taken as it is, and the database stays as it is', () => {
    const other = openCli()
    try {
      furnishCli(other, '20')
      const path = join(other.dataDir, 'gateway.db')
      const database = new Database(path)
      const newest = (database.query('PRAGMA user_version').get() as { user_version: number })
        .user_version
      database.run(`PRAGMA user_version = ${newest - 1}`)
      database.close(true)
      const { code, err } = other.run(['backup', 'before.db'])
      expect(code).toBe(0)
      expect(err).toContain('! not recorded in the log of acts')
      const after = new Database(path, { readonly: true })
      expect(after.query('PRAGMA user_version').get()).toEqual({ user_version: newest - 1 })
      after.close()
    } finally {
      other.close()
    }
  })
})

describe('a database that an older binary left', () => {
  const before = MIGRATIONS.length - 1
  let other: CliHarness
  let path: string

  beforeEach(() => {
    other = openCli()
    mkdirSync(other.dataDir, { mode: 0o700 })
    path = join(other.dataDir, 'gateway.db')
    const database = new Database(path)
    for (const sql of MIGRATIONS.slice(0, -1)) database.run(sql)
    database.run(`PRAGMA user_version = ${before}`)
    database.run("INSERT INTO accounts (id, name, created_at) VALUES ('acct_1', 'kept', 0)")
    database.close(true)
  })
  afterEach(() => other.close())

  const schemaOf = (file: string): unknown => {
    const database = new Database(file, { readonly: true })
    try {
      return database.query('PRAGMA user_version').values()[0]?.[0]
    } finally {
      database.close(true)
    }
  }
  const WORDS = `this database is schema ${before}, and this binary works with ${before + 1}`

  test.each([
    ['accounts'],
    ['audit'],
    ['keys', 'create', 'new'],
    ['init'],
    ['why', 'gen-x'],
    ['export'],
  ])('%s refuses it, names what upgrades it, and leaves it as it is', (...command) => {
    const { code, out, err } = other.run(command)
    expect({ code, out, err }).toEqual({
      code: 1,
      out: '',
      err: `error: ${WORDS}: serve upgrades it, and no other command does\nhint: gatewayctl backup    then: gatewayctl serve\n`,
    })
    expect(schemaOf(path)).toBe(before)
    expect(readdirSync(other.dataDir)).not.toContain(`gateway.db.pre-migrate-${before}`)
  })

  test('doctor names it, status says that nothing runs, and a backup is taken of it', () => {
    const doctor = other.run(['doctor'])
    expect([doctor.code, doctor.out]).toEqual([6, expect.stringContaining(`✖ ${WORDS}`)])
    expect(other.run(['status', '-q'])).toEqual({ code: 4, out: '', err: '' })
    expect(other.run(['status'])).toMatchObject({ code: 4, err: expect.stringContaining(WORDS) })
    expect(other.run(['backup']).code).toBe(0)
    expect(schemaOf(path)).toBe(before)
  })

  test('serve copies it, says so, and upgrades it', async () => {
    const gateway = await startAppliance(other)
    const copy = `${path}.pre-migrate-${before}`
    const words = `upgrading the database from schema ${before} to ${before + 1}; as it was: ${copy}\n`
    expect(gateway.said()).toContain(words)
    expect(await gateway.stop()).toBe(0)
    expect([schemaOf(path), schemaOf(copy), mode(copy)]).toEqual([before + 1, before, '600'])
    const kept = new Database(copy, { readonly: true })
    expect(kept.query('SELECT name FROM accounts').all()).toEqual([{ name: 'kept' }])
    kept.close(true)
  })

  test('a restore of it upgrades what it has put in place', () => {
    const fresh = furnishCli(openCli())
    try {
      expect(fresh.run(['backup', '--restore', path, '--confirm', 'gateway.db']).code).toBe(0)
      expect(fresh.json<{ name: string }[]>(['accounts']).map(({ name }) => name)).toEqual(['kept'])
      expect(schemaOf(path)).toBe(before)
    } finally {
      fresh.close()
    }
  })
})

describe('init --force', () => {
  const names = (other: CliHarness) =>
    other.json<{ name: string }[]>(['keys']).map(({ name }) => name)

  test('starts over after confirmation by name, and the old database can be restored', () => {
    const other = openCli()
    try {
      furnishCli(other, '20')
      other.run(['keys', 'create', 'old'])
      const refused = other.run(['init', '--force', '--yes'])
      expect(refused).toMatchObject({ code: 5, out: '' })
      expect(refused.err).toContain('hint: gatewayctl init --force --yes --confirm gateway.db\n')
      expect(other.run(['init', '--confirm', 'gateway.db']).code).toBe(2)
      const { code, out, err } = other.run(['init', '--force', '--confirm', 'gateway.db'])
      expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^if-\w{49}\n$/) })
      expect(names(other)).toEqual(['default'])
      expect(other.json(['balance'])).toMatchObject({ balance_usd: '0' })
      const aside = /the previous database is kept: (\S+)/.exec(err)?.[1] ?? ''
      expect(other.run(['backup', '--restore', aside, '--confirm', 'gateway.db']).code).toBe(0)
      expect(names(other)).toEqual(['old', 'default'])
    } finally {
      other.close()
    }
  })

  test('without a database it asks nothing', () => {
    const other = openCli()
    try {
      expect(other.run(['init', '--force']).code).toBe(0)
      expect(readdirSync(other.dataDir).filter((name) => name.includes('replaced'))).toEqual([])
    } finally {
      other.close()
    }
  })
})

describe('restore', () => {
  const restore = (file: string, ...rest: string[]) =>
    cli.run(['backup', '--restore', file, ...rest])

  test('needs the name typed, and --yes is not enough', () => {
    const refused = restore('one.db', '--yes')
    expect(refused).toMatchObject({ code: 5, out: '' })
    expect(refused.err).toContain(
      'hint: gatewayctl backup --restore one.db --yes --confirm gateway.db\n',
    )
    expect(restore('one.db', '--confirm', 'gateway')).toMatchObject({ code: 2, out: '' })
  })

  test('restores, keeps the previous database, and audits', () => {
    cli.run(['balance', 'top-up', '5', '--ref', 'later'])
    expect(cli.json(['balance'])).toMatchObject({ balance_usd: '25.00' })
    const { code, out, err } = restore('one.db', '--confirm', 'gateway.db')
    expect({ code, out }).toEqual({ code: 0, out: 'audit clean: 1 entry, 1 account\n' })
    const aside = /the previous database is kept: (\S+)/.exec(err)?.[1] ?? ''
    expect(cli.json(['balance'])).toMatchObject({ balance_usd: '20.00' })
    const [act] = cli.json<object[]>(['activity', 'list', '--admin', '--limit', '1'])
    expect(act).toMatchObject({
      verb: 'backup.restore',
      target: place('one.db'),
      changed: { replaced: aside },
    })
    expect(mode(aside)).toBe('600')
    // And back again, from what was kept.
    expect(restore(aside, '--confirm', 'gateway.db', '--json').code).toBe(0)
    expect(cli.json(['balance'])).toMatchObject({ balance_usd: '25.00' })
    expect(cli.run(['audit']).code).toBe(0)
  })

  test('into an empty directory it asks nothing', () => {
    const dataDir = place('elsewhere')
    const { code, out } = restore('one.db', '--data-dir', dataDir, '--json')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ replaced: null, audit: { clean: true } })
    expect(mode(dataDir)).toBe('700')
    expect(cli.json(['keys', '--data-dir', dataDir])).toHaveLength(1)
  })

  test('refuses secrets of another master key than is here, and says which one is missing where none is', () => {
    const old = furnishCli(openCli())
    const fresh = furnishCli(openCli())
    try {
      old.run(['providers', 'add', 'openai', '--key-file', '-'], { stdin: 'sk-old' })
      const backup = join(old.home, 'one.db')
      expect(old.run(['backup', backup]).code).toBe(0)
      const command = ['backup', '--restore', backup, '--confirm', 'gateway.db']
      const before = readFileSync(join(fresh.dataDir, 'gateway.db'))
      const own = join(fresh.dataDir, 'master.key')
      writeFileSync(own, 'ab'.repeat(32))
      const refused = fresh.run(command)
      expect({ code: refused.code, out: refused.out }).toEqual({ code: 1, out: '' })
      const sealer = /are sealed by the master key ([0-9a-f]{8}), and the one here is/.exec(
        refused.err,
      )?.[1]
      expect(refused.err).toContain(
        '\nhint: put that key here, or name its file in GATEWAY_MASTER_',
      )
      expect(readFileSync(join(fresh.dataDir, 'gateway.db')).equals(before)).toBe(true)

      rmSync(own)
      const { code, err } = fresh.run(command)
      expect(code).toBe(0)
      expect(err.split('\n')[0]).toBe(
        `! the secrets in ${backup} are sealed by the master key ${sealer}, and there is none here: serve needs it`,
      )
      expect(fresh.json([...command])).toMatchObject({ missing_master_key: sealer })
      for (const verb of ['serve', 'init']) {
        expect(fresh.run([verb])).toEqual({
          code: 1,
          out: '',
          err: expect.stringMatching(
            `^error: the secrets in .* are sealed by the master key ${sealer}, and there is none here\nhint: put that key back`,
          ),
        })
      }
      expect(existsSync(own)).toBe(false)
      copyFileSync(join(old.dataDir, 'master.key'), own)
      expect(fresh.json([...command])).toMatchObject({ missing_master_key: null })
      expect(fresh.run(command).err).toMatch(/^✓ restored /)

      // The key was replaced, and one provider forgotten.
      writeFileSync(join(old.dataDir, 'master.key'), 'ab'.repeat(32))
      old.run(['providers', 'add', 'groq', '--key-file', '-'], { stdin: 'sk-new' })
      rmSync(backup)
      expect(old.run(['backup', backup]).code).toBe(0)
      const part = fresh.run(command)
      expect([part.code, part.err.split('\n')[0]]).toEqual([
        0,
        expect.stringMatching(
          /^! some secrets in .* the master key [0-9a-f]{8}, and the one here is .*: doctor names/,
        ),
      ])
    } finally {
      old.close()
      fresh.close()
    }
  })

  test('refuses a file that is no backup, is damaged, or has a newer schema, and changes nothing', () => {
    writeFileSync(place('words.db'), 'no database')
    const damaged = readFileSync(place('one.db'))
    damaged.fill(0xff, 8_192, 20_480)
    writeFileSync(place('damaged.db'), damaged)
    cli.run(['backup', 'later.db'])
    const later = new Database(place('later.db'))
    later.run('PRAGMA user_version = 999')
    later.close(true)
    Bun.spawnSync(['mkfifo', place('pipe')])
    const before = readFileSync(join(cli.dataDir, 'gateway.db'))
    for (const [file, words] of [
      ['missing.db', 'no such file'],
      ['pipe', 'not a file'],
      ['words.db', 'is no database of a gateway'],
      ['damaged.db', 'is damaged'],
      ['later.db', 'this database is schema 999, this binary knows'],
    ] as const) {
      const { code, out, err } = restore(file, '--confirm', 'gateway.db')
      expect({ file, code, out }).toEqual({ file, code: 1, out: '' })
      expect(err).toContain(words)
    }
    expect(readFileSync(join(cli.dataDir, 'gateway.db')).equals(before)).toBe(true)
    expect(readdirSync(cli.dataDir).filter((name) => name.includes('restoring'))).toEqual([])
    expect(cli.run(['audit']).code).toBe(0)
  })
})

describe('a database that a newer gatewayctl has made', () => {
  test('is left alone by every command: exit 1, and what to install; status says that nothing runs', () => {
    const newer = furnishCli(openCli())
    const database = new Database(join(newer.dataDir, 'gateway.db'))
    database.run('PRAGMA user_version = 999')
    database.close(true)
    for (const [ends, command] of [
      [1, ['keys']],
      [4, ['status']],
      [1, ['serve', '--listen', '127.0.0.1:0']],
    ] as const) {
      const { code, out, err } = newer.run(command)
      expect({ command, code, out }).toEqual({ command, code: ends, out: '' })
      expect(err).toMatch(
        /^error: this database is schema 999, this binary knows \d+\nhint: install a newer gatewayctl, or /,
      )
    }
    const { code, out } = newer.run(['doctor'])
    expect(code).toBe(6)
    expect(out).toContain('next: install a newer gatewayctl')
    newer.close()
  })
})
