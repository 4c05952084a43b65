/** `gatewayctl init`: the data directory, an account, the demo provider and a first key; repeating it changes nothing. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE_FILE } from '#db/file-name.ts'
import { renderAddress } from '#db/postgres/engine/address.ts'
import { dollars } from '#domain/money.ts'
import { shellWord } from '#forms/shell-word.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from './action.ts'
import type { Context } from './context.ts'
import { usageError } from './exit.ts'
import { readMoney } from './flags/read-value.ts'
import { call } from './gateway/operator.ts'
import type { Answers } from './init/questions.ts'
import { describeLimits } from './keys/describe-limits.ts'
import { readSharedStore } from './settings/shared-store.ts'
import { clean } from './terminal/clean.ts'
import { paint, print, printJson, printNote } from './terminal/output.ts'
import { showOnce } from './terminal/show-once.ts'

interface Flags {
  readonly demo: boolean
  readonly demoCredit?: string
  readonly name?: string
  readonly force?: boolean
  readonly confirm?: string
}

export const mount: Mount = (root) =>
  root
    .command('init')
    .description(
      'create the data directory, a demo provider and a first key; asks at most three questions',
    )
    .option('--no-demo', 'without the built-in demo provider')
    .option('--demo-credit <amount>', 'initial balance in dollars')
    .option('--name <name>', 'name of the first key')
    .option('--force', 'start over; the existing database is kept')
    .option('--confirm <name>', 'confirm --force with the name of the file it replaces: gateway.db')
    .action(
      action(async (context, flags: Flags) => {
        const setAside = await beginAnew(context, flags)
        if (setAside !== null)
          printNote(context, `· the previous database is kept: ${clean(setAside)}`)
        const input = {
          demo: flags.demo,
          key_name: flags.name,
          demo_credit_usd:
            flags.demoCredit === undefined
              ? undefined
              : readMoney('--demo-credit', flags.demoCredit),
        }
        const answers = asksQuestions(context, flags) ? await ask(context) : null
        const made = await call(context, 'init', input, { create: true })
        show(context, made)
        if (context.json) return
        if (answers !== null) {
          const { applyAnswers } = await import('./init/apply-answers.ts')
          await applyAnswers(context, answers)
        }
        printNote(context, 'next: gatewayctl serve')
        if (answers?.provider == null) {
          printNote(context, 'then: gatewayctl providers add openai --from-env OPENAI_API_KEY')
        }
      }),
    )

/** Asks only at a terminal, and only before a database exists. */
const asksQuestions = (context: Context, { force }: Flags): boolean =>
  force !== true &&
  !context.json &&
  !context.quiet &&
  context.canPrompt() &&
  readSharedStore(context) === null &&
  !existsSync(join(context.dataDir, DATABASE_FILE))

async function ask(context: Context): Promise<Answers> {
  const { askQuestions } = await import('./init/questions.ts')
  return await askQuestions(context)
}

function show(context: Context, made: VerbRecord<'init'>): void {
  const tick = paint(context, 'green', '✓')
  const markOf = (part: (typeof made.created)[number]) => (made.created.includes(part) ? tick : '·')
  printNote(context, `${markOf('account')} database  ${clean(placeOf(context))}`)
  printNote(
    context,
    `${markOf('account')} account   ${made.account}, balance ${dollars(made.balance_usd)}`,
  )
  printNote(
    context,
    `${markOf('provider')} models    ${clean(made.models.join('  ')) || 'none yet'}`,
  )
  const record = { data_dir: context.dataDir, ...made }
  if (made.key === null) {
    if (context.json) printJson(record)
    printNote(context, '· nothing to do; to add a key: gatewayctl keys create NAME')
    return
  }
  printNote(context, `${tick} key       ${clean(made.key.name)} (${made.key.id}), shown once:`)
  const { id, key } = made.key
  showOnce(() => (context.json ? printJson(record) : print(key)), {
    done: `created key ${clean(made.key.name)} (${id})`,
    help: `gatewayctl keys rotate ${id}`,
  })
  printNote(context, `  limits    ${describeLimits(made.key)}`)
  const name = shellWord(made.key.name)
  printNote(context, `  to set some: gatewayctl limits set ${name} --rpm 60 --daily-usd 5`)
}

function placeOf(context: Context): string {
  const shared = readSharedStore(context)
  return shared === null ? join(context.dataDir, DATABASE_FILE) : renderAddress(shared.address)
}

/** Where the old database was moved; null where there was none, or without `--force`. @throws CommandError 1, 2, 5 */
async function beginAnew(context: Context, { force, confirm }: Flags): Promise<string | null> {
  if (!force) {
    if (confirm === undefined) return null
    throw usageError('--confirm requires --force')
  }
  if (readSharedStore(context) !== null) {
    throw usageError(
      '--force sets a file aside, and the store is in PostgreSQL',
      'dropdb and createdb, then gatewayctl store migrate',
    )
  }
  const path = join(context.dataDir, DATABASE_FILE)
  if (!existsSync(path)) return null
  const { confirmByName } = await import('./terminal/confirm.ts')
  await confirmByName(context, {
    name: DATABASE_FILE,
    confirmed: confirm,
    question: `set ${path} aside and start over? Its keys stop working, and its balances and log no longer apply.`,
    act: `set ${path} aside`,
  })
  const { asideOf, lockStopped } = await import('./backup/aside.ts')
  const { setAside } = await import('#db/sqlite/files/restore.ts')
  const release = lockStopped(context.dataDir)
  const aside = asideOf(context)
  try {
    setAside(path, aside)
  } finally {
    release()
  }
  return aside
}
