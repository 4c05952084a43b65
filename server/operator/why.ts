/** The why verb: why a request was refused, whether it would be now, and the command that helps; or how an admitted one went. */
import * as z from 'zod/mini'
import type { ActivityEntry } from '#domain/activity.ts'
import { type ErrorMetadata, GatewayError } from '#domain/errors.ts'
import { judgeAgain } from '#domain/judge-again.ts'
import type { ApiKey } from '#domain/key.ts'
import { limitNamed, renderLimits } from '#domain/limits.ts'
import { renderUsd } from '#domain/money.ts'
import { readReceipt } from '#domain/receipt.ts'
import { scopeField, textField } from '#forms/fields.ts'
import { findEntry } from './activity.ts'
import { renderOperatorReceipt } from './activity-record.ts'
import type { OperatorDeps } from './deps.ts'
import { verb } from './verb.ts'
import { type RefusalFacts, remediesFor } from './why/remedies.ts'
import { storyOf } from './why/story.ts'

/** The refusing limit with its value, usage and reset time; null when it was not a limit. */
export interface RefusalRecord {
  readonly code: string
  readonly message: string
  readonly limit: string | null
  /** Whose it is, where it is not the key's. */
  readonly limit_of: 'account' | null
  readonly limit_value: string | number | null
  readonly used: string | number | null
  readonly resets_at: string | null
}

export interface WhyRecord {
  readonly id: string
  readonly request_id: string
  readonly created_at: string
  readonly key_id: string
  readonly key_name: string
  readonly user: string | null
  readonly surface: string
  readonly session: string | null
  readonly node: string | null
  readonly model: string
  /** Whose route the model has now: its own, or that of a mask; null where none is set. */
  readonly routed_by: string | null
  readonly status: number
  readonly code: string | null
  readonly ended_by: string
  /** Null where it was admitted. */
  readonly refusal: (RefusalRecord & { readonly most_cost_usd: string | null }) | null
  /** The decision for the same request now; `admitted` is null when it depends on the body, which is not stored. */
  readonly now: { readonly admitted: boolean | null; readonly refusal: RefusalRecord | null } | null
  /** Commands that would resolve the refusal. */
  readonly remedies: readonly string[]
  /** How it went, when it was admitted. */
  readonly story: readonly string[]
}

/** @throws what `findEntry` throws */
export const explain = verb(
  z.strictObject({ account: scopeField, id: textField }),
  async (deps, { id, account }): Promise<WhyRecord> => {
    const entry = await findEntry(deps, id, account, 'why')
    const receipt = renderOperatorReceipt(await readReceipt(deps.store, entry))
    const { request_id, created_at, key_id, key_name, user, surface, session, node } = receipt
    const { model, status, code, ended_by } = receipt
    return {
      id: entry.generationId,
      ...{ request_id, created_at, key_id, key_name, user, surface, session, node },
      ...{ model, status, code, ended_by },
      routed_by: deps.store.catalogue.current().models.get(model)?.routedBy ?? null,
      ...(ended_by === 'refused' ? await explainRefusal(deps, entry) : NOT_REFUSED),
      story: ended_by === 'refused' ? [] : storyOf(receipt),
    }
  },
)

type RefusalExplanation = Pick<WhyRecord, 'refusal' | 'now' | 'remedies'>

const NOT_REFUSED: RefusalExplanation = { refusal: null, now: null, remedies: [] }

async function explainRefusal(
  deps: OperatorDeps,
  entry: ActivityEntry,
): Promise<RefusalExplanation> {
  const { store } = deps
  const key = await store.keys.find(entry.keyId)
  const { code, refusal } = entry
  const then = { code: code ?? '', metadata: refusal?.metadata ?? null }
  const rendered = {
    ...renderRefusal(then, refusal?.message ?? 'the log has no words of it'),
    most_cost_usd: refusal?.hold ? renderUsd(refusal.hold) : null,
  }
  if (!key) return { refusal: rendered, now: null, remedies: [] }
  const now = await judgeAgain(deps, entry, key)
  const owner = await store.accounts.find(entry.accountId)
  // An allow-list has ids.
  const model = store.catalogue.current().aliases.get(entry.model) ?? entry.model
  const context = { key, model, accountName: owner?.name ?? entry.accountId }
  const facts = [
    ...(stillHolds(then, key) ? [then] : []),
    ...(now instanceof GatewayError ? [toFacts(now)] : []),
  ]
  return {
    refusal: rendered,
    now: renderNow(now),
    remedies: [...new Set(facts.flatMap((one) => remediesFor(one, context)))],
  }
}

const toFacts = ({ code, details }: GatewayError): RefusalFacts => ({
  code,
  metadata: details.metadata ?? null,
})

const renderNow = (now: GatewayError | 'unknown' | null): WhyRecord['now'] => ({
  admitted: now === 'unknown' ? null : now === null,
  refusal: now instanceof GatewayError ? renderRefusal(toFacts(now), now.message) : null,
})

/** An unchanged limit can refuse again even if it is free now; balance and catalogue count only as they are now. */
function stillHolds({ metadata }: RefusalFacts, key: ApiKey): boolean {
  const limit = limitNamed(String(metadata?.['limit']))
  if (limit === undefined || limit.unit === 'masks') return false
  const whose = metadata?.['limit_of'] === 'account' ? key.accountLimits : key.limits
  return renderLimits(whose)[limit.name] === metadata?.['limit_value']
}

function renderRefusal({ code, metadata }: RefusalFacts, message: string): RefusalRecord {
  const { limit, limit_of, limit_value, used, resets_at }: ErrorMetadata = metadata ?? {}
  return {
    code,
    message,
    limit: textOf(limit),
    limit_of: limit_of === 'account' ? 'account' : null,
    limit_value: numberOrText(limit_value),
    used: numberOrText(used),
    resets_at: textOf(resets_at),
  }
}

type Value = ErrorMetadata[string] | undefined

const textOf = (value: Value): string | null => (typeof value === 'string' ? value : null)

const numberOrText = (value: Value): string | number | null =>
  typeof value === 'number' ? value : textOf(value)
