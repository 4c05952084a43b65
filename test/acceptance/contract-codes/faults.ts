/** Errors that are not the client's fault: the provider's, the operator's, or the gateway's own. */
import { expect } from 'vitest'
import { until } from '#test/support/appliance.ts'
import { type Case, limitOf, type Row } from './case.ts'
import { state } from './requests.ts'
import {
  BUSY_SECONDS,
  exhaust,
  jam,
  LARGE_BODY_BYTES,
  openDamaged,
  openDraining,
  openScene,
  overload,
} from './scene.ts'
import type { Visitor } from './visitor.ts'

const MEBIBYTE = 1024 * 1024

/** A request that was admitted and then failed at a provider. */
const failing = (
  what: string,
  more: object,
  metadata: Readonly<Record<string, unknown>>,
  told: Partial<Case> = {},
): Case => ({
  what,
  metadata,
  taken: 1,
  async ask(visitor: Visitor) {
    await visitor.key()
    return await visitor.chat(more)
  },
  ...told,
})

/** A client library that retries an image by itself would pay for it twice. */
const IMAGE = { modalities: ['image'], stream: false }
const ONCE = { allow_fallbacks: false }
const acme = (provider_status?: number) => ({
  provider: 'acme',
  ...(provider_status && { provider_status }),
})

const killed = async ({ scene, name }: Visitor): Promise<boolean> =>
  (await scene.gateway.verb('activity.kill', { id: name })).ended

export const FAULTS = {
  internal_error: {
    status: 500,
    type: 'api_error',
    stage: openDamaged,
    cases: [
      {
        what: 'a database row that cannot be read',
        words: /^the gateway failed while it handled this request$/,
        async ask(visitor) {
          await visitor.key()
          return await visitor.chat()
        },
      },
      {
        what: 'the same, before a request is started',
        words: /^the gateway failed while it handled this request$/,
        async ask(visitor) {
          await visitor.key()
          return await visitor.call('GET', '/models')
        },
      },
    ],
  },
  upstream_error: {
    status: 502,
    type: 'api_error',
    cases: [
      failing('it breaks', { model: 'acme/broken' }, acme(500)),
      failing('the provider cannot be reached', { model: 'gone/m' }, { provider: 'gone' }),
      failing("the operator's account is refused", { model: 'acme/locked' }, acme(401), {
        words:
          /^the gateway's own account with acme does not work; the operator has to look at it$/,
      }),
      failing('busy, for who wants one attempt', { model: 'acme/busy', ...ONCE }, acme(429)),
      failing('silent, for who wants one attempt', { model: 'acme/silent', ...ONCE }, acme()),
      failing(
        'an image without fallbacks (contract §3)',
        { model: 'acme/broken', ...IMAGE, ...ONCE },
        acme(500),
        { shouldRetry: 'false' },
      ),
    ],
  },
  no_image_returned: {
    status: 502,
    type: 'api_error',
    cases: [
      failing('words instead', { model: 'acme/drawing', ...IMAGE }, acme(), {
        shouldRetry: 'false',
        words: /nothing was charged$/,
      }),
    ],
  },
  no_route_available: {
    status: 503,
    type: 'api_error',
    cases: [
      {
        what: 'provider preferences that leave no provider',
        async ask(visitor) {
          await visitor.key()
          return await visitor.chat({ provider: { only: ['acme'] } })
        },
      },
    ],
  },
  upstream_overloaded: {
    status: 503,
    type: 'api_error',
    cases: [
      failing('it asks for patience', { model: 'acme/busy' }, acme(429), {
        retryAfter: String(BUSY_SECONDS),
      }),
    ],
  },
  unpriced_model: {
    status: 503,
    type: 'api_error',
    cases: [
      {
        what: 'a model without a price',
        param: 'model',
        async ask(visitor) {
          await visitor.key()
          return await visitor.chat({ model: 'acme/unpriced' })
        },
      },
    ],
  },
  shutting_down: {
    status: 503,
    type: 'api_error',
    stage: openDraining,
    cases: [
      {
        what: 'during a shutdown',
        retryAfter: '2',
        shouldRetry: 'true',
        async ask(visitor) {
          await visitor.key()
          return await visitor.chat()
        },
      },
    ],
  },
  ended_by_operator: {
    status: 503,
    type: 'api_error',
    cases: [
      {
        what: 'before the first content',
        shouldRetry: 'false',
        taken: 1,
        spent: true,
        words: /^the operator of the gateway ended this request$/,
        async ask(visitor) {
          await visitor.key()
          const answer = visitor.chat({ user: 'delay-60000' })
          await until(() => killed(visitor), 'it is in progress and ended')
          return await answer
        },
      },
    ],
  },
  store_unavailable: {
    status: 503,
    type: 'api_error',
    cases: [
      {
        what: 'while no commit succeeds',
        retryAfter: '5',
        prepare: (visitor) => visitor.key(),
        trouble: jam,
        ask: (visitor) => visitor.chat(),
      },
    ],
  },
  gateway_overloaded: {
    status: 503,
    type: 'api_error',
    stage: openScene,
    cases: [
      {
        what: 'the bodies of other keys take the memory',
        metadata: limitOf('memory_bytes', 192 * MEBIBYTE, 186 * MEBIBYTE),
        retryAfter: '1',
        connection: 'close',
        words:
          /^the gateway holds 186\.0 of 192\.0 MiB in .+ would take 62\.0 MiB more; ask again .+ raise memory_budget_mib$/,
        prepare: (visitor) => visitor.key(),
        trouble: overload,
        ask: (visitor) => state(visitor, LARGE_BODY_BYTES),
      },
    ],
  },
  descriptors_exhausted: {
    status: 503,
    type: 'api_error',
    needs: 'prlimit',
    cases: [
      failing(
        'no provider can be connected to',
        { model: 'gone/m' },
        {
          limit: 'open_files',
          limit_value: expect.any(Number),
          used: expect.any(Number),
          resets_at: null,
        },
        {
          retryAfter: '1',
          words: /^the gateway cannot connect to a provider: all \d+ of its file descriptors are/,
          prepare: (visitor) => visitor.key(),
          trouble: exhaust,
          ask: (visitor) => visitor.chat({ model: 'gone/m' }),
        },
      ),
    ],
  },
  upstream_timeout: {
    status: 504,
    type: 'api_error',
    cases: [failing('no first byte in time', { model: 'acme/silent' }, acme())],
  },
} satisfies Record<string, Row>
