/**
 * What every request asks and is answered, as lists without names: JSON writes and reads them in a third of the time that a
 * structured clone takes. What no list here can say (a failed attempt, a refusal) goes as a clone.
 */
import type { ActivityEntry } from '#domain/activity.ts'
import type { Claim, Grant, Repeated, Settlement, Verdict } from '#domain/admission.ts'
import type { Stale } from '#domain/catalogue.ts'
import type { Repeat, StagedAnswer } from '#domain/idempotency.ts'
import type { ApiKey } from '#domain/key.ts'
import type { Charge } from '#domain/ledger.ts'
import type { OfferCost } from '#domain/offer-cost.ts'
import type { Owner } from '#domain/owner.ts'
import type { Usage } from '#domain/usage.ts'
import type { QuotaReading, WindowReading } from '#domain/window.ts'

type Word = string | number | boolean | null

/** What JSON says, and reads as it was. */
export type Packed = Word | readonly Packed[] | { readonly [name: string]: Packed }

/** Of one method: its arguments, and its answer. */
export interface Packing {
  readonly args: Form<readonly unknown[]>
  readonly answer: Form<unknown>
}

interface Form<Value> {
  /** Undefined where it cannot be said. */
  pack(value: Value): Packed | undefined
  unpack(packed: Packed): Value
}

const asItIs = <Value>(): Form<Value> => ({
  pack: (value) => value as Packed,
  unpack: (packed) => packed as Value,
})

const WORD: Form<unknown> = {
  ...asItIs(),
  pack: (value) =>
    typeof value === 'string' ||
    value === null ||
    typeof value === 'boolean' ||
    Number.isFinite(value)
      ? (value as Word)
      : undefined,
}

const word = <Value extends Word>(): Form<Value> => WORD as Form<Value>

/** Exactly: as a number where that is exact too, which is read sooner. */
const LONG: Form<bigint | null> = {
  pack(value) {
    if (typeof value !== 'bigint') return value === null ? null : undefined
    const short = Number(value)
    return Number.isSafeInteger(short) ? short : String(value)
  },
  unpack: (packed) => (packed === null ? null : BigInt(packed as string | number)),
}

const long = <Value extends bigint | null>(): Form<Value> => LONG as unknown as Form<Value>

/** Names, and counts by name. */
const names = <
  Value extends readonly string[] | Readonly<Record<string, number>> | null,
>(): Form<Value> => ({
  ...asItIs<Value>(),
  pack: (value) => (typeof value === 'object' ? value : undefined),
})

const NOTHING: readonly never[] = []

/** One that has members is not said. */
const empty = <Value>(): Form<readonly Value[]> => ({
  pack: ({ length }) => (length === 0 ? 0 : undefined),
  unpack: () => NOTHING,
})

const absent = <Value>(): Form<Value | null> => ({
  pack: (value) => (value === null ? null : undefined),
  unpack: () => null,
})

const orNull = <Value>({ pack, unpack }: Form<Value>): Form<Value | null> => ({
  pack: (value) => (value === null ? null : pack(value)),
  unpack: (packed) => (packed === null ? null : unpack(packed)),
})

const each = <Value>({ pack, unpack }: Form<Value>): Form<readonly Value[]> => ({
  pack: (values) => packAll(values, pack),
  unpack: (packed) => (packed as readonly Packed[]).map(unpack),
})

type Forms<Value> = { readonly [Name in keyof Value]-?: Form<Value[Name]> }

/** The values of all fields, in the order of `forms`. */
function record<Value extends object>(forms: Forms<Value>): Form<Value> {
  const fields = Object.entries(forms).map(([name, form]) => ({
    name: name as keyof Value,
    form: form as Form<Value[keyof Value]>,
  }))
  // Of the shape that it will have: to add one field after the other takes longer.
  const blank = Object.fromEntries(fields.map(({ name }) => [name, null])) as Value
  return {
    pack: (value) =>
      typeof value === 'object' && value !== null
        ? packAll(fields, ({ name, form }) => form.pack(value[name]))
        : undefined,
    unpack(packed) {
      const value = { ...blank }
      let at = 0
      for (const { name, form } of fields) {
        value[name] = form.unpack((packed as readonly Packed[])[at++] as Packed)
      }
      return value
    },
  }
}

/** The arguments of a method. */
function list<Values extends readonly unknown[]>(forms: Forms<Values>): Form<Values> {
  const all = forms as unknown as readonly Form<unknown>[]
  return {
    pack: (values) => packAll(all, (form, at) => form.pack(values[at])),
    unpack: (packed) =>
      all.map((form, at) => form.unpack((packed as readonly Packed[])[at] as Packed)) as never,
  }
}

/** Undefined where one of them cannot be said. */
function packAll<Part>(
  parts: readonly Part[],
  pack: (part: Part, at: number) => Packed | undefined,
): readonly Packed[] | undefined {
  const all: Packed[] = []
  for (const part of parts) {
    const packed = pack(part, all.length)
    if (packed === undefined) return undefined
    all.push(packed)
  }
  return all
}

const OWNER = record<Owner>({ node: word(), epoch: word() })

const REPEAT = record<Repeat>({ key: word(), digest: word() })

const OFFER = record<OfferCost>({
  promptTokens: word(),
  base: long(),
  perMillion: long(),
  choices: word(),
  full: word(),
  floor: word(),
  fullOutput: long(),
})

const CLAIM = record<Claim>({
  generationId: word(),
  requestId: word(),
  owner: OWNER,
  keyId: word(),
  accountId: word(),
  at: word(),
  model: word(),
  endUser: word(),
  surface: word(),
  session: word(),
  repeat: orNull(REPEAT),
  offers: each(OFFER),
  catalogue: word(),
})

const WINDOW = record<WindowReading>({ limit: word(), remaining: word(), resetSeconds: word() })

type Admitted = Extract<Verdict, { admitted: true }>

const ADMITTED = record<Admitted>({
  admitted: word(),
  quota: record<QuotaReading>({ minute: orNull(WINDOW), day: orNull(WINDOW) }),
  grant: record<Grant>({ at: word(), money: long(), hold: long() }),
})

/** Of all verdicts, that of nearly every request. */
const VERDICT: Form<Verdict | Stale | Repeated> = {
  pack: (verdict) =>
    verdict === 'stale' || !verdict.admitted ? undefined : ADMITTED.pack(verdict),
  unpack: ADMITTED.unpack,
}

const USAGE = record<Usage>({
  inputTokens: word(),
  cacheReadTokens: word(),
  cacheWriteTokens: word(),
  cacheWrite1hTokens: word(),
  imageInputTokens: word(),
  outputTokens: word(),
  reasoningTokens: word(),
  imageOutputTokens: word(),
  inputImages: word(),
  outputImages: word(),
  searchUnits: word(),
  serverCalls: names(),
})

const CHARGE = record<Charge>({
  amount: long(),
  rubPerUsd: long(),
  costRub: long(),
  priceVersion: word(),
  usage: USAGE,
  modifiers: names(),
  source: word(),
  parts: record<Charge['parts']>({
    prompt: long(),
    completion: long(),
    images: long(),
    tools: long(),
  }),
})

const ENTRY = record<ActivityEntry>({
  generationId: word(),
  requestId: word(),
  accountId: word(),
  keyId: word(),
  model: word(),
  provider: word(),
  credential: word(),
  endUser: word(),
  surface: word(),
  session: word(),
  node: word(),
  stream: word(),
  status: word(),
  code: word(),
  endedBy: word(),
  finishReason: word(),
  startedAt: word(),
  queuedMs: word(),
  firstEventMs: word(),
  totalMs: word(),
  usage: USAGE,
  usageSource: word(),
  modifiers: names(),
  cutTools: names(),
  cost: long(),
  costRub: long(),
  image: absent(),
  statedCost: long(),
  failedAttempts: empty(),
  unchargedCost: long(),
  hold: long(),
  loweredBound: word(),
  refusal: absent(),
})

const SETTLEMENT = record<Settlement>({
  at: word(),
  charge: orNull(CHARGE),
  activity: ENTRY,
  answer: orNull(record<StagedAnswer>({ id: word() })),
})

/** What the keeper answers to `keys.found`: which version of a key it is, and the key unless that version is known. */
export type Found = readonly [version: number, key?: ApiKey]

const FOUND: Form<Found | undefined> = {
  pack: (found) => (found?.length === 1 ? [found[0]] : undefined),
  unpack: (packed) => packed as Found,
}

const packing = <Args extends readonly unknown[], Answer>(
  args: Form<Args>,
  answer: Form<Answer>,
): Packing => ({ args, answer }) as Packing

/** By the names of the methods. */
export const PACKINGS: ReadonlyMap<string, Packing> = new Map([
  ['keys.found', packing(list<[string, number, number]>([word(), word(), word()]), FOUND)],
  ['admissions.admit', packing(list<[Claim]>([CLAIM]), VERDICT)],
  ['admissions.settle', packing(list<[string, Settlement]>([word(), SETTLEMENT]), word<boolean>())],
])
