/** Files that a person might write, made up: every section, every field, now and then left out. */
import * as fc from 'fast-check'
import { ACCOUNT_LIMITS, type AccountLimitsRecord, forEachLimit } from '#domain/limits.ts'
import { NAME_PATTERN } from '#forms/fields.ts'
import type { GatewayFile } from '#operator/apply/document.ts'

const orNone = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

const dollars = fc
  .tuple(fc.nat({ max: 5_000 }), fc.nat({ max: 999_999 }))
  .map(([whole, part]) => `${whole}.${String(part).padStart(6, '0')}`)
const price = fc
  .tuple(fc.nat({ max: 90 }), fc.nat({ max: 9_999 }))
  .map(([whole, part]) => `${whole}.${String(part).padStart(4, '0')}`)
const count = fc.integer({ min: 1, max: 10_000 })
const words = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .map((text) => text.trim())
  .filter((text) => text !== '' && text.isWellFormed())
/** A note is of one line: graphemes have line separators among them, which its form refuses. */
const line = words.filter((text) => NAME_PATTERN.test(text))

const NAMES = ['alpha', 'beta', 'gamma', 'delta', 'epsilon'] as const
const PROVIDERS = ['acme', 'bolt', 'openai'] as const
const someOf = <T>(from: readonly T[]) => fc.subarray([...from], { minLength: 0 })

/** Without the fields that were left out. */
const tidy = <T extends object>(record: T): T =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T

const OF_UNIT = {
  slots: orNone(count),
  count: orNone(count),
  usd: orNone(dollars),
  masks: orNone(fc.subarray(['acme/*', 'bolt/one', '*', 'openai/*'], { minLength: 0 })),
}
const limits = forEachLimit<typeof OF_UNIT>(({ unit }) => OF_UNIT[unit])

const accountLimits = Object.fromEntries(
  ACCOUNT_LIMITS.map(({ name }) => [name, limits[name]]),
) as Pick<typeof limits, keyof AccountLimitsRecord>

const key = (name: string, account: string) =>
  fc
    .record({
      ...limits,
      note: orNone(line),
      expires_at: orNone(fc.constantFrom('2027-01-01T00:00:00Z', '2030-06-30T12:30:00.5Z')),
      disabled: orNone(fc.boolean()),
      kind: orNone(fc.constantFrom('ordinary' as const, 'provisioning' as const)),
    })
    .map((rest) => tidy({ name, account, ...rest }))

const priceList = fc
  .record({
    in_usd: price,
    out_usd: price,
    cached_in_usd: orNone(price),
    cache_write_usd: orNone(price),
    image_in_usd: orNone(price),
    image_out_usd: orNone(price),
    per_request_usd: orNone(price),
    per_input_image_usd: orNone(price),
    per_image_usd: orNone(
      fc.constantFrom(
        [{ usd: '0.04' }],
        [{ resolution: '1024x1024', quality: 'high', usd: '0.167' }, { usd: '0.011' }],
      ),
    ),
    tiers: orNone(
      fc.constant([
        { above_input_tokens: 200_000, in_usd: '5', out_usd: '22.5', cached_in_usd: '0.5' },
      ]),
    ),
  })
  .map(tidy)

/** What a model does, and a price that such a model may have. */
const kindAndPrice = fc.oneof(
  fc.record({ price: orNone(priceList) }),
  fc.record({
    kind: fc.constant('embed' as const),
    embedding_space: orNone(fc.constant('ours-1')),
    price: orNone(fc.record({ in_usd: price })),
  }),
  fc.record({
    kind: fc.constant('rerank' as const),
    price: orNone(
      fc.constantFrom<{ in_usd?: string; per_search_unit_usd?: string }>(
        { per_search_unit_usd: '0.002' },
        { in_usd: '0.05' },
      ),
    ),
  }),
)

const model = (id: string, provider: string) =>
  fc
    .record({
      does: kindAndPrice,
      upstream: orNone(fc.constantFrom('m-1', 'deployments/x')),
      name: orNone(words),
      description: orNone(words),
      context_length: orNone(count),
      max_completion_tokens: orNone(count),
      images_per_answer: orNone(fc.constantFrom(1, 4)),
      wires: orNone(
        fc.constantFrom(
          ['responses'],
          ['chat', 'responses'],
          ['responses', 'chat'],
        ) as fc.Arbitrary<('chat' | 'responses')[]>,
      ),
      input_modalities: orNone(someOf(['text', 'image', 'audio', 'file'] as const)),
      output_modalities: orNone(someOf(['text', 'image'] as const)),
      supported_parameters: orNone(someOf(['max_tokens', 'tools', 'seed'])),
      route_order: orNone(fc.constantFrom('latency' as const, 'weight' as const)),
      route: orNone(
        fc.constantFrom(
          [{ provider }],
          [
            { provider, position: 2 },
            { provider: 'acme', upstream: 'other', weight: 3 },
          ].slice(provider === 'acme' ? 1 : 0),
        ),
      ),
    })
    .map(({ does, ...rest }) => tidy({ id, provider, ...rest, ...tidy(does) }))

const route = (pattern: string) =>
  fc
    .record({
      order: orNone(fc.constantFrom('latency' as const, 'weight' as const)),
      hops: fc.constantFrom(
        [{ provider: '*' }],
        [{ provider: '*' }, { provider: 'acme', upstream: 'at/*', position: 2 }],
        [{ provider: 'acme', weight: 3 }],
      ) as fc.Arbitrary<{ provider: string; position?: number }[]>,
    })
    .map((rest) => tidy({ pattern, ...rest }))

const client = (name: string) =>
  fc
    .record({
      redirect_uris: fc.subarray(['https://a.example/cb', 'https://b.example/cb'], {
        minLength: 1,
      }),
      logout_uris: orNone(fc.constant(['https://a.example/bye'])),
      login: fc
        .boolean()
        .map((is) => (name === 'beta' ? { public: true, device: is } : { require_pkce: is })),
      id_token_claims: orNone(fc.boolean()),
      backchannel_logout_uri: orNone(fc.constant('https://a.example/out')),
      allowed: orNone(fc.subarray(['staff', 'ann@example.org', '@example.org'], { minLength: 1 })),
    })
    .map(({ login, ...rest }) => tidy({ name, ...login, ...rest }))

const each = <T>(names: readonly string[], make: (name: string) => fc.Arbitrary<T>) =>
  fc.subarray([...names]).chain((some) => fc.tuple(...some.map(make)) as fc.Arbitrary<T[]>)

/** Whole: every section is there, so that each may be edited. The provider acme is always in it, for routes. */
export const files: fc.Arbitrary<GatewayFile> = fc
  .record({
    rates: fc.record({ usd_rub: fc.constantFrom('90.5', '100', '88.123456') }),
    notices: fc
      .record({
        email: fc.constantFrom('ops@example.org', 'night@example.org'),
        webhook_url: orNone(fc.constant('https://ops.example.org/gateway')),
        ceiling_percents: orNone(fc.constantFrom([50, 90], [])),
        quiet: orNone(fc.constant('22:00-07:00')),
        digest_at: orNone(fc.constant('08:00')),
        wakes_for_critical: orNone(fc.constant(true)),
      })
      .map((rest) => tidy(rest)),
    accounts: each(['default', 'second'], (name) =>
      fc
        .record({
          threshold_usd: orNone(dollars),
          email: orNone(fc.constant('ops@example.org')),
          webhook_url: orNone(fc.constant('https://ops.example.org/hook?x=1')),
          member_daily_usd: orNone(dollars),
          ...accountLimits,
        })
        .map((rest) => tidy({ name, ...rest })),
    ),
    members: each(['ann@example.org', 'Bo@example.org'], (email) =>
      fc
        .record({ role: fc.constantFrom('owner' as const, 'member' as const, 'viewer' as const) })
        .map(({ role }) => ({ account: 'default', email, role })),
    ),
    providers: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()).map((keyed) =>
      PROVIDERS.map((name, n) =>
        tidy({
          name,
          base_url: name === 'openai' ? undefined : `https://${name}.example/v1`,
          ...(keyed[n] && n === 1
            ? {
                credentials: [
                  { name: 'us', from_env: `${name.toUpperCase()}_US_KEY` },
                  { name: 'eu', weight: 2, from_env: `${name.toUpperCase()}_EU_KEY` },
                ],
              }
            : { from_env: keyed[n] ? `${name.toUpperCase()}_KEY` : undefined }),
          output_bound: keyed[n] ? (['none', 'both', 'max_tokens'] as const)[n] : undefined,
        }),
      ),
    ),
    models: each(
      PROVIDERS.flatMap((provider) => ['one', 'two'].map((name) => `${provider}/${name}`)),
      (id) => model(id, id.slice(0, id.indexOf('/'))),
    ),
    routes: each(['*', 'openai/*', 'openai/o*'], route),
    keys: each(NAMES, (name) => key(name, 'default')),
    clients: each(NAMES, client),
    groups: each(['guests', 'staff'], (name) =>
      fc
        .subarray(['ann@example.org', 'bob@example.org'], { minLength: 1 })
        .map((people) => ({ name, people })),
    ),
  })
  .map((file) => file as GatewayFile)
