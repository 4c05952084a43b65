/** The gateway's own store without the gateway: admits and settles a request like any other. */
import { openStore } from '#db/index.ts'
import { systemClock } from '#domain/clock.ts'
import { newGenerationId, newRequestId, type PriceVersionId } from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Charge } from '#domain/ledger.ts'
import type { RubMicros, RubPerUsd, UsdAttos, UsdNanos } from '#domain/money.ts'
import { fixedCost } from '#domain/offer-cost.ts'
import { NO_USAGE } from '#domain/usage.ts'
import type { GatewayStore } from '#signin/store.ts'

export interface Accounting {
  /** Takes the window slots of a request and a hold. Returns what settles it, once it has used so many tokens. */
  admit(): Promise<Settle>
}

export type Settle = (tokens: number) => Promise<unknown>

const MODEL = 'words/m'
const HOLD = 3_000_000n as UsdNanos
const NANOS_PER_TOKEN = 300

/** Opens the store of a furnished directory; the requests are made with the key that has this secret. */
export async function openAccounting(dataDir: string, secret: string): Promise<Accounting> {
  const store = await openStore({ dataDir, clock: systemClock, serves: true })
  const key = await store.keys.findBySecret(secret, systemClock.now())
  if (!key) throw new Error('no key of this directory has this secret')
  return accountOf(store, key)
}

/** The requests are made with this key. */
export function accountOf(store: GatewayStore, { accountId, id: keyId }: ApiKey): Accounting {
  return {
    async admit() {
      const at = systemClock.now()
      const generationId = newGenerationId(at)
      const made = { generationId, requestId: newRequestId(at), keyId, accountId, ...ASKED }
      const { owner } = store
      const { version: catalogue } = store.catalogue.current()
      const offers = [fixedCost(HOLD)]
      const claim = { ...made, owner, at, endUser: null, repeat: null, offers, catalogue }
      const verdict = await store.admissions.admit(claim)
      if (verdict === 'stale') throw new Error('the catalogue has changed, or the node was ended')
      if (!verdict.admitted) {
        const { code = 'repeated', limit, used } = verdict.refusal ?? {}
        throw new Error(`a request was refused: ${code} ${limit} ${used}`)
      }
      return (tokens) => {
        const charge = toCharge(tokens)
        const now = systemClock.now()
        const activity = {
          ...made,
          provider: 'words',
          credential: null,
          node: null,
          endUser: null,
          stream: false,
          status: 200,
          code: null,
          endedBy: 'completed',
          finishReason: 'stop',
          startedAt: at,
          queuedMs: 0,
          firstEventMs: now - at,
          totalMs: now - at,
          usage: charge.usage,
          usageSource: charge.source,
          modifiers: [],
          cutTools: [],
          cost: charge.amount,
          costRub: charge.costRub,
          image: null,
          statedCost: null,
          failedAttempts: [],
          unchargedCost: 0n as UsdNanos,
          hold: HOLD,
          loweredBound: null,
          refusal: null,
        } as const
        return store.admissions.settle(generationId, { answer: null, at: now, charge, activity })
      }
    },
  }
}

const ASKED = { model: MODEL, surface: 'chat', session: null } as const
const NO_RUB = 0n as RubMicros
const FREE = 0n as UsdAttos

const toCharge = (tokens: number): Charge => ({
  amount: BigInt(tokens * NANOS_PER_TOKEN) as UsdNanos,
  rubPerUsd: 90_000_000n as RubPerUsd,
  costRub: NO_RUB,
  priceVersion: 'price_bench' as PriceVersionId,
  usage: { ...NO_USAGE, outputTokens: tokens },
  modifiers: [],
  source: 'provider',
  parts: { prompt: FREE, completion: FREE, images: FREE, tools: FREE },
})
