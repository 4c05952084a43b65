/** Replaces the database with a backup: checks the backup, keeps the old database aside, audits the result. */
import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DATABASE_FILE } from '#db/file-name.ts'
import { examineCopy } from '#db/sqlite/files/examine-copy.ts'
import { replaceDatabase } from '#db/sqlite/files/restore.ts'
import { sealedBy } from '#db/sqlite/files/sealed-by.ts'
import { openVault } from '#db/vault.ts'
import { GatewayError } from '#domain/errors.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT, endWith } from '../exit.ts'
import { makePrivateDirectory } from '../gateway/access.ts'
import { call } from '../gateway/operator.ts'
import { readMasterKey } from '../settings/master-key.ts'
import { clean } from '../terminal/clean.ts'
import { confirmByName } from '../terminal/confirm.ts'
import { count } from '../terminal/count.ts'
import { noteDone, print, printJson, printNote } from '../terminal/output.ts'
import { showProgress } from '../terminal/progress.ts'
import { withTypedFlags } from '../terminal/typed-flags.ts'
import { asideOf, lockStopped } from './aside.ts'

/** What `--json` prints of a restore. */
export interface RestoreRecord {
  readonly restored: string
  /** Where the previous database is kept; null where there was none. */
  readonly replaced: string | null
  /** Schema of the backup itself; opening it has upgraded it. */
  readonly schema_version: number
  /** The id of the master key that sealed secrets in it, of several the first, where that is not here; null where none is missing. */
  readonly missing_master_key: string | null
  readonly audit: VerbRecord<'audit'>
}

/** @throws CommandError 1 while a server runs, for an unusable file or another master key than sealed it, 5 without consent */
export async function restoreBackup(
  context: Context,
  stated: string,
  confirmed: string | undefined,
): Promise<void> {
  const source = resolve(stated)
  const path = join(context.dataDir, DATABASE_FILE)
  if (!existsSync(source)) throw refused(`no such file: ${source}`)
  requireFile(source)
  if (existsSync(path)) requireFile(path)
  const facts = await examineSource(context, source)
  const missingKey = findMissingKey(context, source)
  await agree(context, { path, stated, confirmed })
  makePrivateDirectory(context.dataDir)
  const release = lockStopped(context.dataDir)
  const aside = asideOf(context)
  let replaced: string | null
  try {
    replaced = replaceDatabase(path, source, aside) ? aside : null
  } finally {
    release()
  }
  await call(context, 'backup.restore', { file: source, replaced }, { upgrade: true })
  const audit = await call(context, 'audit', {})
  if (!audit.clean) endWith(EXIT.failed)
  const record = {
    restored: source,
    replaced,
    schema_version: facts.schemaVersion,
    missing_master_key: missingKey,
    audit,
  }
  if (context.json) printJson(record)
  else show(context, record)
}

/** A pipe would be waited for. */
function requireFile(path: string): void {
  if (!statSync(path).isFile()) throw refused(`not a file: ${path}`)
}

/** Asks for consent where a database would be replaced. */
async function agree(
  context: Context,
  asked: { path: string; stated: string; confirmed: string | undefined },
): Promise<void> {
  const { path, stated, confirmed } = asked
  if (!existsSync(path)) return
  await confirmByName(context, {
    name: DATABASE_FILE,
    confirmed,
    question: `replace ${path} with ${clean(stated)}? Charges, credits and changes made since that backup no longer apply.`,
    act: `replace ${path}`,
  })
}

async function examineSource(context: Context, source: string) {
  const progress = showProgress(context, 'checking the backup')
  const facts = await examineCopy(source)
    .catch((cause: unknown) => {
      if (!(cause instanceof GatewayError)) throw cause
      throw refused(cause.message, cause.details.hint ?? null)
    })
    .finally(progress.done)
  const [first] = facts.integrityFindings
  if (first !== undefined) throw refused(`${source} is damaged: ${first}`)
  return facts
}

/**
 * Said before anything is replaced. Without a key it goes on: a service may be given its own from elsewhere; and with one that opens a part.
 * @throws CommandError 1 where another key is here that opens none, with which the gateway would start and reach no provider
 */
function findMissingKey(context: Context, source: string): string | null {
  const sealers = sealedBy(source)
  const key = readMasterKey(context, { create: false })
  const own = key && openVault(key).keyId
  const missing = sealers.filter((id) => id !== own)
  const [sealer] = missing
  if (sealer === undefined) return null
  const isPart = missing.length < sealers.length
  const what = `${isPart ? 'some' : 'the'} secrets in ${clean(source)} are sealed by the master key ${missing.join(' or ')}`
  if (own !== null && !isPart) {
    throw refused(
      `${what}, and the one here is ${own}`,
      'put that key here, or name its file in GATEWAY_MASTER_KEY_FILE; if it is lost, take the one here away, restore, and put it back: each secret is then to be set again',
    )
  }
  const outlook =
    own === null
      ? 'there is none here: serve needs it'
      : `the one here is ${own}: doctor names those that are then to be set again`
  printNote(context, `! ${what}, and ${outlook}`)
  return sealer
}

const refused = (message: string, hint: string | null = null): CommandError =>
  new CommandError('restore_refused', EXIT.failed, message, hint)

function show(context: Context, record: RestoreRecord): void {
  const { restored, replaced, audit } = record
  noteDone(context, `restored ${clean(restored)}`)
  if (replaced !== null) printNote(context, `  the previous database is kept: ${clean(replaced)}`)
  if (context.quiet) return
  const { entries, accounts, found } = audit
  print(
    audit.clean
      ? `audit clean: ${count(entries, 'entry', 'entries')}, ${count(accounts, 'account')}`
      : `audit found ${count(found, 'difference')}: ${withTypedFlags('gatewayctl audit', context.typed)}`,
  )
  printNote(context, 'next: gatewayctl doctor    then: gatewayctl serve')
}
