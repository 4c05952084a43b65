/** Domain objects with defaults; a test overrides the fields that it needs. */
import type { Account } from '#domain/account.ts'
import type { Act } from '#domain/act.ts'
import type { ActivityEntry } from '#domain/activity.ts'
import type { Claim } from '#domain/admission.ts'
import { type Instant, instant } from '#domain/clock.ts'
import {
  newEntryId,
  newEpochId,
  newEventId,
  newGenerationId,
  newKeyId,
  newPriceVersionId,
} from '#domain/id.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Charge, LedgerEntry } from '#domain/ledger.ts'
import { type Limits, NO_LIMITS } from '#domain/limits.ts'
import type { Threshold } from '#domain/low-balance.ts'
import { type ModelCard, type Prices, type PriceVersion, UNROUTED } from '#domain/model-card.ts'
import {
  type Factor,
  perMillion,
  type RubMicros,
  type RubPerUsd,
  readFactor,
  readPrice,
  readRubPerUsd,
  readUsd,
  toRub,
  type UsdAttos,
  type UsdNanos,
} from '#domain/money.ts'
import { type Notice, renderLowBalance } from '#domain/notice.ts'
import { fixedCost } from '#domain/offer-cost.ts'
import type { Owner } from '#domain/owner.ts'
import { DEFAULT_CREDENTIAL, type Provider } from '#domain/provider.ts'
import type { Route, RouteHop, RouteOrder } from '#domain/route.ts'
import { NO_USAGE } from '#domain/usage.ts'
import type { Generate } from '#domain/work.ts'
import { readReasoning } from '#http/surfaces/chat/read-request.ts'
import { toConversation } from '#http/surfaces/chat/to-conversation.ts'
import { newPasskeyId, type Passkey } from '#signin/register/passkey.ts'
import type { PersonId } from '#signin/register/person.ts'

/** Parses a value written by the test; throws when it is invalid. */
function demand<T>(value: T | undefined): T {
  if (value === undefined) throw new TypeError('the test wrote a value that cannot be read')
  return value
}

export const usd = (text: string): UsdNanos =>
  text.startsWith('-') ? (-demand(readUsd(text.slice(1))) as UsdNanos) : demand(readUsd(text))
export const price = (text: string): UsdAttos => demand(readPrice(text))
/** A price as price lists state it: dollars per million tokens. */
export const perM = (text: string): UsdAttos => demand(perMillion(price(text)))
export const factor = (text: string): Factor => demand(readFactor(text))
export const rate = (text: string): RubPerUsd => demand(readRubPerUsd(text))

const EPOCH = instant(0)

export const anOwner = (): Owner => ({ node: 'a', epoch: newEpochId(EPOCH) })
const OWNER = anOwner()

export const aPriceList = (stated: Partial<Prices> = {}): Prices => ({
  prompt: perM('2.5'),
  completion: perM('10'),
  cacheRead: null,
  cacheWrite: null,
  cacheWrite1h: null,
  request: price('0'),
  searchUnit: price('0'),
  inputImage: price('0'),
  imageInputToken: null,
  imageOutputToken: null,
  imagePrices: [],
  tiers: [],
  serverTools: [],
  modifiers: [],
  ...stated,
})

export const aVersion = (stated: Partial<Prices> = {}, effectiveFrom = EPOCH): PriceVersion => ({
  id: newPriceVersionId(effectiveFrom),
  effectiveFrom,
  prices: aPriceList(stated),
})

/** With one price, unless `price` is null or `prices` are stated. */
export const aCard = ({
  price,
  ...stated
}: Partial<ModelCard> & { readonly price?: PriceVersion | null } = {}): ModelCard => ({
  id: 'acme/small',
  kind: 'generate',
  embeddingSpace: null,
  provider: 'acme',
  upstreamName: 'small',
  ...UNROUTED,
  name: 'Small',
  description: '',
  createdAt: EPOCH,
  contextLength: null,
  maxCompletionTokens: null,
  isCatalogued: false,
  imagesPerAnswer: 1,
  wires: null,
  inputModalities: ['text'],
  outputModalities: ['text'],
  supportedParameters: [],
  prices: price === null ? [] : [price ?? aVersion()],
  ...stated,
  ...(stated.route && { routedBy: stated.routedBy ?? stated.id ?? 'acme/small' }),
})

/** With one credential, or with those that are stated. */
export const aProvider = ({
  hasCredential = false,
  ...stated
}: Partial<Provider> & { readonly hasCredential?: boolean } = {}): Provider => ({
  name: 'acme',
  type: 'openai-compatible',
  baseUrl: 'http://127.0.0.1:9',
  credentials: hasCredential ? [{ name: DEFAULT_CREDENTIAL, weight: 1 }] : [],
  outputBound: null,
  learnedBound: null,
  createdAt: EPOCH,
  revision: 1,
  ...stated,
})

export const aHop = (stated: Partial<RouteHop> = {}): RouteHop => ({
  provider: 'acme',
  upstreamName: 'small',
  position: 1,
  weight: 1,
  ...stated,
})

/** Of a model, or of a mask. */
export const aRoute = (
  pattern: string,
  hops: readonly RouteHop[],
  order: RouteOrder = 'weight',
): Route => ({ pattern, order, hops })

export const aRequest = (stated: Partial<Generate> = {}): Generate => ({
  kind: 'generate',
  dialect: 'chat',
  model: 'acme/small',
  body: {},
  conversation: toConversation,
  reasoning: stated.body ? readReasoning(stated.body) : null,
  stream: false,
  includeUsage: true,
  wantsImages: false,
  image: { resolution: undefined, quality: undefined },
  endUser: null,
  choices: 1,
  maxOutputTokens: null,
  textBytes: 100,
  inputImages: 0,
  allowFallbacks: true,
  ...stated,
})

/** A new one for every change, because an id is noted once; older than all that a gateway notes. */
export const anAct = (at: Instant = EPOCH, stated: Partial<Act> = {}): Act => ({
  id: `act_0000000000${crypto.randomUUID()}`,
  at,
  who: 'tester',
  verb: 'test',
  target: null,
  changed: { tested: true },
  ...stated,
})

export const anAccount = (stated: Partial<Account> = {}): Account => ({
  id: 'acct_1',
  name: 'default',
  createdAt: EPOCH,
  balance: 0n as UsdNanos,
  memberDaily: null,
  limits: NO_LIMITS,
  closedAt: null,
  ...stated,
})

export const aKey = (
  at: Instant,
  limits: Partial<Limits> = {},
  stated: Partial<ApiKey> = {},
): ApiKey => ({
  id: newKeyId(at),
  accountId: 'acct_1',
  name: 'worker',
  kind: 'ordinary',
  label: 'if-000000…0000',
  note: null,
  limits: { ...NO_LIMITS, ...limits },
  accountLimits: NO_LIMITS,
  createdAt: at,
  updatedAt: at,
  lastUsedAt: null,
  expiresAt: null,
  disabledAt: null,
  revokedAt: null,
  madeBy: null,
  ...stated,
})

export const aClaim = (key: ApiKey, at: Instant, hold: UsdNanos = usd('0.01')): Claim => ({
  generationId: newGenerationId(at),
  requestId: 'req_1',
  owner: OWNER,
  keyId: key.id,
  accountId: key.accountId,
  at,
  model: 'acme/small',
  endUser: null,
  surface: 'chat',
  session: null,
  repeat: null,
  offers: [fixedCost(hold)],
  // Of a store whose catalogue nobody has changed.
  catalogue: 1,
})

const NINETY = rate('90')

export const aCharge = (amount: UsdNanos): Charge => ({
  amount,
  rubPerUsd: NINETY,
  costRub: toRub(amount, NINETY),
  priceVersion: 'price_1',
  usage: { ...NO_USAGE, inputTokens: 22, outputTokens: 3 },
  modifiers: [],
  source: 'provider',
  parts: {
    prompt: 0n as UsdAttos,
    completion: 0n as UsdAttos,
    images: 0n as UsdAttos,
    tools: 0n as UsdAttos,
  },
})

export const anActivity = (claim: Claim, stated: Partial<ActivityEntry> = {}): ActivityEntry => ({
  generationId: claim.generationId,
  requestId: claim.requestId,
  accountId: claim.accountId,
  keyId: claim.keyId,
  model: claim.model,
  provider: 'acme',
  credential: null,
  endUser: null,
  surface: claim.surface,
  session: claim.session,
  node: null,
  stream: false,
  status: 200,
  code: null,
  endedBy: 'completed',
  finishReason: 'stop',
  startedAt: claim.at,
  queuedMs: 0,
  firstEventMs: 12,
  totalMs: 34,
  usage: NO_USAGE,
  usageSource: null,
  modifiers: [],
  cutTools: [],
  cost: 0n as UsdNanos,
  costRub: 0n as RubMicros,
  image: null,
  statedCost: null,
  failedAttempts: [],
  unchargedCost: 0n as UsdNanos,
  hold: null,
  loweredBound: null,
  refusal: null,
  ...stated,
})

export const aTopUp = (
  at: Instant,
  amount: UsdNanos,
  stated: Partial<LedgerEntry> = {},
): LedgerEntry => ({
  id: newEntryId(at),
  accountId: 'acct_1',
  kind: 'top_up',
  amount,
  at,
  keyId: null,
  generationId: null,
  day: null,
  endUser: null,
  rubPerUsd: NINETY,
  priceVersion: null,
  note: null,
  ref: null,
  ...stated,
})

export const aThreshold = (stated: Partial<Threshold> = {}): Threshold => ({
  accountId: 'acct_1',
  below: usd('20'),
  email: 'ops@example.org',
  webhookUrl: 'https://ops.example.org/hook',
  ...stated,
})

/** A webhook that is due at once. */
export const aNotice = (at: Instant, stated: Partial<Notice> = {}): Notice => {
  const { eventId = newEventId(at) } = stated
  const accountId = stated.accountId ?? 'acct_1'
  const [balance, below] = [usd('19.5'), usd('20')]
  return {
    eventId,
    channel: 'webhook',
    accountId,
    type: 'gateway.low_balance',
    body: renderLowBalance({ eventId, accountId, at, balance, below, rubPerUsd: NINETY }),
    createdAt: at,
    state: 'pending',
    tries: 0,
    nextTryAt: at,
    ...stated,
  }
}

export const aPasskey = (
  personId: PersonId,
  at: Instant,
  stated: Partial<Passkey> = {},
): Passkey => ({
  id: newPasskeyId(),
  personId,
  credentialId: `credential-${crypto.randomUUID()}`,
  name: 'Chrome, Linux',
  publicKey: 'a2V5',
  counter: 0,
  transports: ['internal', 'hybrid'],
  isSynced: false,
  createdAt: at,
  lastUsedAt: null,
  ...stated,
})
