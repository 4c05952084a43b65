/** The list of causes: what each says is whole, and the operator's page knows all of it. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { CAUSE_NAMES, CAUSES, type CauseFacts, type CauseName } from '#domain/cause.ts'
import { instant } from '#domain/clock.ts'
import { draftDigest, draftEvent, type EventBody } from '#domain/event.ts'

const AT = instant(Date.parse('2026-11-24T09:36:17.942Z'))
const PAGE = readFileSync(
  fileURLToPath(new URL('../../docs/operator/notices.md', import.meta.url)),
  'utf8',
)

const SHARE = {
  limit: 'monthly_spend_limit_usd',
  limit_usd: '5.00',
  used_usd: '4.02',
  percent: 80,
  resets_at: '2026-12-01T00:00:00Z',
} as const

const CEILING = { account_id: 'acct_1', key_id: 'key_1', key_name: 'web', ...SHARE } as const

const SAMPLES: { readonly [Name in CauseName]: CauseFacts[Name] } = {
  'gateway.key_ceiling': CEILING,
  'gateway.account_ceiling': { account_id: 'acct_1', account_name: 'team-b', ...SHARE },
  'gateway.end_user_ceiling': { ...CEILING, limit: 'end_user_daily_usd', end_user: 'u_1' },
  'gateway.charge_beyond_hold': {
    account_id: 'acct_1',
    key_id: 'key_1',
    generation_id: 'gen-1',
    provider: 'acme',
    model: 'acme/m',
    held_usd: '0.01',
    charged_usd: '0.02',
    day: '2026-11-24',
  },
  'gateway.provider_resting': {
    provider: 'acme',
    models: ['m', 'n'],
    failures: 4,
    reason: 'failed',
    status: 500,
  },
  'gateway.provider_recovered': { provider: 'acme', credential: null, event_id: 'evt_1' },
  'gateway.credential_rejected': {
    provider: 'acme',
    credential: 'two',
    models: ['m'],
    status: 401,
  },
  'gateway.certificate_ending': {
    host: 'api.example.org',
    ends_at: '2026-12-01T00:00:00Z',
    days_left: 6,
  },
  'gateway.bill_differs': {
    provider: 'acme',
    since: '2026-10-01T00:00:00Z',
    until: '2026-11-01T00:00:00Z',
    unexplained_usd: '1.24',
    tolerance_percent: '0.1',
  },
  'gateway.backup_failed': { file: null, reason: 'no room' },
  'gateway.sweep_failed': { reason: 'it is stuck' },
  'gateway.disk_low': {
    directory: '/var/lib/gatewayctl',
    free_bytes: 200_000_000,
    free_percent: 1,
    level: 'full',
  },
  'gateway.clock_wrong': { ahead_seconds: -400 },
  'gateway.test': {},
}

describe.each(CAUSE_NAMES)('%s', (name) => {
  const { body } = draftEvent(name, SAMPLES[name] as never, AT)
  const event: EventBody = JSON.parse(body)

  test('its payload has the facts that are declared, and words', () => {
    const { severity, message, hint, ...facts } = event.data
    expect(Object.keys(facts).toSorted()).toEqual(Object.keys(CAUSES[name].facts).toSorted())
    expect(event).toMatchObject({ type: name, timestamp: '2026-11-24T09:36:17.942Z' })
    expect(severity).toMatch(/^(info|warning|critical)$/)
    for (const words of [message, hint]) expect(words).toMatch(/^(?!.*undefined)\S.+\S$/)
  })

  test('the page of notices has it, with its facts', () => {
    const facts = Object.keys(CAUSES[name].facts).map((fact) => `\`${fact}\``)
    if (facts.length > 0) expect(PAGE).toContain(`| \`${name}\` | ${facts.join(' ')} |`)
    else expect(PAGE).toContain(`\`${name}\``)
  })
})

test('one cause is one subject: another period, ceiling or share is another', () => {
  const subject = (more: object) => CAUSES['gateway.key_ceiling'].subject({ ...CEILING, ...more })
  expect(subject({ used_usd: '4.99', key_name: 'renamed' })).toBe(subject({}))
  for (const more of [
    { percent: 100 },
    { limit_usd: '6.00' },
    { resets_at: '2027-01-01T00:00:00Z' },
  ]) {
    expect(subject(more)).not.toBe(subject({}))
  }
})

test('a digest has each whole, and the worst severity of them', () => {
  const events = [
    draftEvent('gateway.sweep_failed', { reason: 'x' }, AT),
    draftEvent('gateway.backup_failed', { file: null, reason: 'y' }, AT),
  ]
  const digest = JSON.parse(draftDigest(events, AT).body)
  expect(digest.data).toMatchObject({ severity: 'critical', message: '2 notices' })
  expect(digest.data.notices).toEqual(events.map(({ body }) => JSON.parse(body)))
})
