/** Verbs for the activity log: search, and the receipt of one request. */

import * as z from 'zod/mini'
import type { ActivityEntry } from '#domain/activity.ts'
import { renderInstant } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import {
  type GenerationId,
  generationArrivedAt,
  generationsFrom,
  isGenerationId,
  type KeyId,
} from '#domain/id.ts'
import { negateUsd, renderUsd } from '#domain/money.ts'
import { readReceipt } from '#domain/receipt.ts'
import { statedIn } from '#domain/stated.ts'
import type { Store } from '#domain/store.ts'
import { DIALECTS } from '#domain/work.ts'
import { orNull, pageField, readAs, scopeField, textField, timeField } from '#forms/fields.ts'
import { type ActivityRecord, renderActivity, renderOperatorReceipt } from './activity-record.ts'
import { makerOf } from './actor.ts'
import type { OperatorDeps } from './deps.ts'
import { accountNameOf, findScope } from './find-account.ts'
import { findKeyOfRecords } from './find-key.ts'
import { shownEndOf } from './shown-id.ts'
import { verb } from './verb.ts'

const MAX_LINES = 100_000

/** "429", or "4xx" for the whole class. */
const statusField = readAs((text) => {
  const match = /^([1-5])(?:xx|\d\d)$/.exec(text)
  if (!match) return undefined
  const hundreds = Number(match[1]) * 100
  return text.endsWith('xx')
    ? { least: hundreds, most: hundreds + 99 }
    : { least: Number(text), most: Number(text) }
}, 'a status such as "429" or a class of them such as "4xx"')

export const filterFields = {
  account: scopeField,
  key: orNull(textField),
  model: orNull(textField),
  provider: orNull(textField),
  /** The end user that a request named. */
  user: orNull(textField),
  surface: orNull(z.enum(DIALECTS)),
  status: orNull(statusField),
  least_total_ms: orNull(z.int().check(z.minimum(0))),
  errors: z._default(z.boolean(), false),
}

const filterForm = z.object(filterFields)

/** Resolves account and key names to ids. @throws account_not_found, key_not_found */
export async function toFilter(deps: OperatorDeps, stated: z.output<typeof filterForm>) {
  const { account, key, model, provider, user, surface, status, least_total_ms, errors } = stated
  const within = await findScope(deps, account)
  return statedIn({
    errorsOnly: errors,
    accountId: within?.id,
    keyId: key === null ? null : (await findKeyOfRecords(deps, key, account)).id,
    model,
    madeBy: makerOf(deps.actor),
    provider,
    endUser: user,
    surface,
    status,
    leastTotalMs: least_total_ms,
  })
}

const rangeFields = {
  ...filterFields,
  since: orNull(timeField),
  until: orNull(timeField),
  /** The last request of the page before. */
  before: orNull(z.string()),
}

const rangeForm = z.object(rangeFields)

async function toRange(deps: OperatorDeps, input: z.output<typeof rangeForm>) {
  const { since, until, before } = input
  return {
    ...(await toFilter(deps, input)),
    ...statedIn({ since, until, before: before as GenerationId | null }),
  }
}

const limitField = pageField(MAX_LINES)

async function renderAll(
  deps: OperatorDeps,
  entries: readonly ActivityEntry[],
): Promise<readonly ActivityRecord[]> {
  const names = await namesOf(deps, entries)
  return entries.map((entry) => renderActivity(entry, names.get(entry.keyId) ?? entry.keyId))
}

/** Newest first, of all accounts unless one is named. @throws account_not_found, key_not_found */
export const listActivity = verb(
  z.strictObject({
    ...rangeFields,
    limit: limitField,
  }),
  async (deps, input): Promise<readonly ActivityRecord[]> => {
    const query = { ...(await toRange(deps, input)), limit: input.limit }
    return await renderAll(deps, await deps.store.activity.list(query))
  },
)

const MAX_SEARCHED = 1_000_000
/** After so long no further lines are looked at: a busy gateway has other requests to serve in between. */
const SEARCHED_MS = 60
const LINES_PER_LOOK = 5_000

/**
 * The same among so many lines of the log at most, whosever they are, for whoever is waiting: it goes on before `searched_to`, which
 * is null where the page is full or nothing is left. @throws account_not_found, key_not_found
 */
export const searchActivity = verb(
  z.strictObject({
    ...rangeFields,
    limit: limitField,
    lines: z.int().check(z.minimum(1), z.maximum(MAX_SEARCHED)),
  }),
  async (deps, input) => {
    const { limit, lines } = input
    const range = await toRange(deps, input)
    const begunMs = deps.clock.monotonicMs()
    const entries: ActivityEntry[] = []
    let searchedTo: GenerationId | null = input.before as GenerationId | null
    for (let seen = 0; seen < lines; seen += LINES_PER_LOOK) {
      const found = await deps.store.activity.search({
        ...range,
        ...statedIn({ before: searchedTo }),
        limit: limit - entries.length,
        lines: Math.min(LINES_PER_LOOK, lines - seen),
      })
      entries.push(...found.entries)
      searchedTo = found.searchedTo
      if (searchedTo === null || deps.clock.monotonicMs() - begunMs >= SEARCHED_MS) break
    }
    return {
      requests: await renderAll(deps, entries),
      searched_to: searchedTo,
      /** When that one arrived. */
      searched_back_to: searchedTo && renderInstant(generationArrivedAt(searchedTo)),
    }
  },
)

/** How many requests match. @throws account_not_found, key_not_found */
export const countActivity = verb(z.strictObject(rangeFields), async (deps, input) => ({
  count: await deps.store.activity.count(await toRange(deps, input)),
}))

/** Of the keys. */
export async function namesOf({ store }: OperatorDeps, entries: readonly ActivityEntry[]) {
  const names = new Map<KeyId, string>()
  const ids = new Set(entries.map(({ keyId }) => keyId))
  for (const { id, name } of await store.keys.findMany([...ids])) names.set(id, name)
  return names
}

/** The receipt of one request. @throws what `findEntry` throws */
export const showActivity = verb(
  z.strictObject({ account: scopeField, id: textField }),
  async (deps, { id, account }) =>
    renderOperatorReceipt(
      await readReceipt(deps.store, await findEntry(deps, id, account, 'activity show')),
    ),
)

const MAX_CANDIDATES = 10

/**
 * By generation id, by request id, or by the end of an id as lists show it, among the requests of the account that `scope`
 * names; null is every account.
 * @throws account_not_found; generation_not_found, also when several match: the message then lists them
 */
export async function findEntry(
  deps: OperatorDeps,
  id: string,
  scope: string | null,
  command: string,
): Promise<ActivityEntry> {
  const { store } = deps
  const account = await findScope(deps, scope)
  const found = isGenerationId(id) ? await store.activity.find(id) : undefined
  if (deps.actor !== undefined) {
    const maker = makerOf(deps.actor)
    // A key may be in another account since.
    const isOfAccount = found?.accountId === deps.actor.accountId
    const isOfMaker = async ({ keyId }: ActivityEntry): Promise<boolean> =>
      maker === undefined || (await store.keys.find(keyId))?.madeBy === maker
    if (found && isOfAccount && (await isOfMaker(found))) return found
    throw new GatewayError('generation_not_found', `no request is kept under "${id}"`)
  }
  if (found && account !== null && found.accountId !== account.id) {
    const owner = await accountNameOf(deps, found.accountId)
    throw new GatewayError(
      'generation_not_found',
      `request ${id} is of account ${owner}, not of ${account.name}`,
      { hint: 'gatewayctl activity list' },
    )
  }
  if (found) return found
  const within = { limit: MAX_CANDIDATES, ...statedIn({ accountId: account?.id }) }
  const sent = await store.activity.list({ requestId: id, ...within })
  const idEnd = sent.length > 0 ? null : shownEndOf('gen-', id)
  const matching = idEnd === null ? sent : await store.activity.list({ idEnd, ...within })
  const [only, ...others] = matching
  if (only === undefined) throw await notFound(store, id)
  if (others.length === 0) return only
  const what = idEnd === null ? `were sent as "${id}"` : `have an id that ends in "${idEnd}"`
  throw ambiguous(what, matching, only.generationId, command)
}

/** The error says whether the request may have been removed from the log, judged by its id and its charge. */
async function notFound({ activity, ledger }: Store, id: string): Promise<GatewayError> {
  const since = await activity.keptSince()
  const isOld = since !== null && isGenerationId(id) && id < generationsFrom(since)
  const charge = isOld ? await ledger.chargeOf(id) : undefined
  return new GatewayError(
    'generation_not_found',
    [
      `no request is kept under "${id}"`,
      ...(isOld ? [] : ['one that is still in progress has no receipt yet']),
      ...(since === null ? [] : [`what ended before ${renderInstant(since)} is no longer kept`]),
      ...(charge
        ? [`the ledger has its charge: ${charge.id}, $${renderUsd(negateUsd(charge.amount))}`]
        : []),
    ].join('\n'),
    { hint: 'gatewayctl activity list' },
  )
}

const ambiguous = (
  what: string,
  entries: readonly ActivityEntry[],
  first: GenerationId,
  command: string,
): GatewayError =>
  new GatewayError(
    'generation_not_found',
    `several requests ${what}\n${entries.map(summarise).join('\n')}`,
    { hint: `gatewayctl ${command} ${first}` },
  )

const summarise = ({ generationId, startedAt, status, model }: ActivityEntry): string =>
  `${generationId} (${renderInstant(startedAt)}, ${status}, ${model})`
