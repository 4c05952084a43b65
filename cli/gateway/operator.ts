/** The client of the operator's verbs: over the socket of a running server, else in this process with the store opened here. */
import { existsSync } from 'node:fs'
import { ERROR_CODES, type ErrorCode, GatewayError } from '#domain/errors.ts'
import { readObject } from '#domain/json.ts'
import { isServed } from '#domain/snapshot/watch.ts'
import { systemCodeOf } from '#domain/system-code.ts'
import type { OperatorErrorBody } from '#operator/app.ts'
import { type AnyVerb, perform } from '#operator/verb.ts'
import { VERBS, type VerbInput, type VerbName, type VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT } from '../exit.ts'
import { ownDirectoryOf, readSharedStore } from '../settings/shared-store.ts'
import { awaitProgress } from '../terminal/progress.ts'
import type { UnwritableError } from '../terminal/streams.ts'
import { toDamageError } from './damage.ts'
import { noteDemo, withDemo } from './demo-socket.ts'
import { isRefused } from './is-refused.ts'
import { type OpenOptions, openStoreOf, toOperatorDeps } from './open-operator.ts'
import { operatorName } from './operator-name.ts'
import { seeVersion } from './served-version.ts'

const carriedOut = new Set<VerbName>()

/** The error for output that cannot be written, or made; where something was changed before, it says so: repeating the command would change it again. */
export async function toLostOutput(cause: UnwritableError | CommandError): Promise<Error> {
  for (const name of carriedOut) {
    const verb: AnyVerb = await VERBS[name]()
    if (!verb.isMutation) continue
    const done = name.replaceAll('.', ' ')
    return new CommandError(
      'output_lost',
      EXIT.failed,
      `${done} was carried out, but its output is lost: ${cause.message}`,
      name.startsWith('balance.') ? 'gatewayctl ledger list' : ACTS,
      { cause },
    )
  }
  return cause
}

/** Where what was changed is looked up. */
const ACTS = 'gatewayctl activity list --admin'

/** Runs one verb; the answer is what `--json` prints. @throws GatewayError from the verb, CommandError */
export async function call<Name extends VerbName>(
  context: Context,
  name: Name,
  input: VerbInput<Name>,
  options: Partial<CallOptions> = {},
): Promise<VerbRecord<Name>> {
  const progress = awaitProgress(context, name.replace('.', ' '))
  try {
    const [answer] = await ask(context, [{ name, input }], { ...DEFAULT_OPTIONS, ...options })
    const record = answer?.record as VerbRecord<Name>
    if (!isAppliedBefore(record)) carriedOut.add(name)
    return record
  } finally {
    progress.done()
  }
}

/** Of a reference that was applied already: nothing was changed now. */
const isAppliedBefore = (record: unknown): boolean => readObject(record)['applied'] === false

/** The same for two verbs that only read, of which each would open the directory. */
export async function callBoth<One extends VerbName, Other extends VerbName>(
  context: Context,
  one: { readonly name: One; readonly input: VerbInput<One> },
  other: { readonly name: Other; readonly input: VerbInput<Other> },
): Promise<readonly [VerbRecord<One>, VerbRecord<Other>]> {
  const progress = awaitProgress(context, one.name.replace('.', ' '))
  try {
    const [first, second] = await ask(context, [one, other], DEFAULT_OPTIONS)
    return [first?.record as VerbRecord<One>, second?.record as VerbRecord<Other>]
  } finally {
    progress.done()
  }
}

/**
 * The same, but only by a running gateway, here or at any node.
 * @throws GatewayError from the verb, CommandError, `none` where no gateway answers and no node lives
 */
export async function callRunning<Name extends VerbName>(
  context: Context,
  name: Name,
  input: VerbInput<Name>,
  none: CommandError,
): Promise<VerbRecord<Name>> {
  const answer = await overSocket(context, name, input)
  if (answer !== null) return answer.record as VerbRecord<Name>
  if (readSharedStore(context) === null) throw none
  const [here] = await inProcess(context, [{ name, input }], DEFAULT_OPTIONS, none)
  return here?.record as VerbRecord<Name>
}

/** How a command opens the directory when no server holds it. */
type CallOptions = Pick<OpenOptions, 'create' | 'upgrade'>

const DEFAULT_OPTIONS: CallOptions = { create: false, upgrade: false }

interface Call {
  readonly name: VerbName
  readonly input: unknown
}

interface Answer {
  readonly record: unknown
}

/** A gateway that is starting holds the directory before it has a socket, so the socket is tried once more. */
async function ask(
  context: Context,
  calls: readonly Call[],
  options: CallOptions,
): Promise<readonly Answer[]> {
  const answers = await allOverSocket(options.create ? context : withDemo(context), calls)
  if (answers !== null) return answers
  try {
    return await inProcess(context, calls, options)
  } catch (thrown) {
    const late = isLocked(thrown) ? await allOverSocket(context, calls) : null
    if (late === null) throw toDamageError(thrown, false)
    return late
  }
}

/** Null when nothing listens. */
async function allOverSocket(
  context: Context,
  calls: readonly Call[],
): Promise<readonly Answer[] | null> {
  const answers: Answer[] = []
  for (const { name, input } of calls) {
    const answer = await overSocket(context, name, input)
    if (answer === null) return null
    answers.push(answer)
  }
  return answers
}

const isLocked = (thrown: unknown): boolean =>
  thrown instanceof GatewayError && thrown.code === 'store_unavailable'

/** Adding a provider writes a hundred models, each to the disk. */
const ANSWER_MS = 60_000
/** For verbs that scan the whole log or ledger: ten million rows on a busy machine. */
const LONG_ANSWER_MS = 600_000
/** `status` must say quickly that nothing answers: Docker's health check waits five seconds. */
const STATUS_MS = 4_000
const LONG_VERBS: ReadonlySet<string> = new Set<VerbName>([
  'apply',
  'audit',
  'doctor',
  'why',
  'activity.list',
  'activity.count',
  'activity.show',
  'ledger.list',
  'ledger.count',
  'usage.drift',
  'usage.report',
  'reconcile',
  'usage.chart',
])

/** Bun closes a connection that is silent for five minutes; this option, missing in its types, prevents that. */
export const NO_TIMEOUT = { timeout: false } as const

const timeoutMs = (name: string): number =>
  name === 'status' ? STATUS_MS : LONG_VERBS.has(name) ? LONG_ANSWER_MS : ANSWER_MS

/** Null when nothing listens: there is no socket, or its server died without removing it. */
async function overSocket(context: Context, name: string, input: unknown): Promise<Answer | null> {
  if (!existsSync(context.adminSocket)) return null
  let response: Response
  try {
    response = await fetch(`http://gateway/verbs/${name}`, {
      unix: context.adminSocket,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-operator': encodeURIComponent(operatorName(context.env)),
      },
      body: JSON.stringify(input),
      ...NO_TIMEOUT,
      signal: AbortSignal.timeout(timeoutMs(name)),
    })
  } catch (cause) {
    if (isRefused(cause)) return null
    if (isTimeout(cause)) throw notAnswering(context, timeoutMs(name))
    if (systemCodeOf(cause) === 'ECONNRESET') throw endedMeanwhile(context)
    throw new CommandError(
      'not_reachable',
      EXIT.notRunning,
      `cannot reach the gateway at ${context.adminSocket}: ${String(cause)}`,
      'gatewayctl status',
    )
  }
  noteDemo(context)
  seeVersion(context, response)
  const record: unknown = await response.json()
  if (response.ok) return { record }
  throw toDamageError(fromErrorBody(record as OperatorErrorBody), true)
}

/** Whether an error is a passed deadline (AbortSignal.timeout). */
export const isTimeout = (cause: unknown): boolean =>
  cause instanceof Error && cause.name === 'TimeoutError'

/** The error for a socket that accepts and does not answer: a stopped or overloaded process. */
export const notAnswering = (
  { adminSocket }: Pick<Context, 'adminSocket'>,
  waitedMs: number,
): CommandError =>
  new CommandError(
    'not_reachable',
    EXIT.notRunning,
    `the gateway at ${adminSocket} does not answer (waited ${waitedMs / 1_000} s)`,
    'check its process and its log; it may need a restart',
  )

/** The error for a server that was asked and died before it answered. */
const endedMeanwhile = ({ adminSocket }: Context): CommandError =>
  new CommandError(
    'not_reachable',
    EXIT.notRunning,
    `the gateway at ${adminSocket} ended before it answered; what was asked may have been done`,
    ACTS,
  )

/** The error that the other side threw. */
export function fromErrorBody({ error }: OperatorErrorBody): GatewayError {
  const code = Object.hasOwn(ERROR_CODES, error.code) ? (error.code as ErrorCode) : 'internal_error'
  return new GatewayError(code, error.message, {
    ...(error.param === null ? {} : { param: error.param }),
    ...(error.hint === null ? {} : { hint: error.hint }),
    // An older running gateway does not send this field.
    ...(error.trouble == null ? {} : { trouble: error.trouble }),
  })
}

/** The verbs that use credentials, or seal a mail; only they read the master key. */
const WITH_MASTER_KEY: ReadonlySet<VerbName> = new Set([
  'apply',
  'init',
  'doctor',
  'providers.add',
  'providers.edit',
  'providers.test',
  'thresholds.set',
  'notices.set',
  'accounts.members.add',
  'clients.rotate-signing-key',
  'identities.add',
  'identities.edit',
])

/** The verbs that read or end what is in progress at nodes; only for them the store is read anew. */
const WATCHING: ReadonlySet<VerbName> = new Set([
  'status',
  'doctor',
  'activity.running',
  'activity.kill',
  'accounts.overview',
  'accounts.figures',
])

async function inProcess(
  context: Context,
  calls: readonly Call[],
  options: CallOptions,
  none: CommandError | null = null,
): Promise<readonly Answer[]> {
  const store = await openStoreOf(context, {
    ...options,
    withMasterKey: calls.some(({ name }) => WITH_MASTER_KEY.has(name)),
  })
  try {
    const deps = await toOperatorDeps(context, store, ownDirectoryOf(context))
    if (none !== null || calls.some(({ name }) => WATCHING.has(name))) await deps.watch?.look()
    if (none !== null && deps.watch && !isServed(deps.watch)) throw none
    const answers: Answer[] = []
    for (const { name, input } of calls) {
      const verb: AnyVerb = await VERBS[name]()
      answers.push({ record: await perform(verb, deps, input) })
    }
    return answers
  } finally {
    await store.close()
  }
}
