/** Keeps an answer as the gateway does for a request that may be repeated: admitted, staged, and shown by its charge. */
import type { Instant } from '#domain/clock.ts'
import type { FoundAnswer, KeptAnswer, Repeat, StagedAnswer } from '#domain/idempotency.ts'
import type { ApiKey } from '#domain/key.ts'
import type { UsdNanos } from '#domain/money.ts'
import type { Store } from '#domain/store.ts'
import { admitClaim } from './admit.ts'
import { aCharge, aClaim, anActivity } from './nouns.ts'

export const aRepeat = (key = 'k', digest = 'ab'.repeat(32)): Repeat => ({ key, digest })

type Stated = Partial<Pick<KeptAnswer, 'repeat' | 'contentType' | 'body'>>

/** A request in progress, its answer, and its end with or without it. */
export async function beginAnswer(
  store: Store,
  key: ApiKey,
  at: Instant,
  { repeat = aRepeat(), contentType = 'application/json', body = new Uint8Array(10) }: Stated = {},
) {
  const claim = { ...aClaim(key, at, 0n as UsdNanos), repeat }
  const { admitted } = await admitClaim(store.admissions, claim)
  if (!admitted) throw new Error('it was not admitted')
  const { keyId, generationId } = claim
  const answer: KeptAnswer = { keyId, repeat, generationId, contentType, body, keptAt: at }
  const end = (shown: StagedAnswer | null, over = store) =>
    over.admissions.settle(generationId, {
      at,
      charge: aCharge(1n as UsdNanos),
      activity: anActivity(claim, { cost: 1n as UsdNanos }),
      answer: shown,
    })
  return { claim, answer, end, stage: () => store.answers.stage(answer) }
}

/** Null where there was no room for it. */
export async function keepAnswer(
  store: Store,
  key: ApiKey,
  at: Instant,
  stated: Stated = {},
): Promise<KeptAnswer | null> {
  const { answer, stage, end } = await beginAnswer(store, key, at, stated)
  const staged = await stage()
  await end(staged)
  return staged && answer
}

export async function findAnswer(
  store: Pick<Store, 'answers'>,
  { id }: Pick<ApiKey, 'id'>,
  at: Instant,
  repeat = aRepeat(),
): Promise<FoundAnswer | undefined> {
  const repetition = await store.answers.find(id, repeat, at)
  return repetition?.is === 'kept' ? repetition.answer : undefined
}
