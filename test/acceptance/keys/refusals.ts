/** What `/v1/keys` and related paths refuse, as a table. */
import type { Asked } from './key-gateway.ts'

type Row = readonly [what: string, line: string, answer: string, asked?: Asked]

/** The request (as `boss` by default), and the status, code and param of its response. */
export const REFUSALS: readonly Row[] = [
  ['no key', 'GET /v1/keys', '401 missing_api_key', { key: '' }],
  ['no such key', 'GET /v1/keys', '401 invalid_api_key', { key: `if-${'0'.repeat(49)}` }],
  [
    'a key that manages: chat',
    'POST /v1/chat/completions',
    '403 provisioning_key_not_allowed',
    { body: {} },
  ],
  ['a key that manages: models', 'GET /v1/models', '403 provisioning_key_not_allowed'],
  ['no name', 'POST /v1/keys', '400 invalid_request name', { body: {} }],
  ['an empty name', 'POST /v1/keys', '400 invalid_request name', { body: { name: '' } }],
  [
    'a limit of 0',
    'POST /v1/keys',
    '400 invalid_request rpm_limit',
    { body: { name: 'x', rpm_limit: 0 } },
  ],
  [
    'money as a number',
    'POST /v1/keys',
    '400 invalid_request daily_spend_limit_usd',
    { body: { name: 'x', daily_spend_limit_usd: 5 } },
  ],
  [
    'seven places',
    'POST /v1/keys',
    '400 invalid_request monthly_spend_limit_usd',
    { body: { name: 'x', monthly_spend_limit_usd: '0.1234567' } },
  ],
  [
    'a mask that is none',
    'POST /v1/keys',
    '400 invalid_request allowed_models[0]',
    { body: { name: 'x', allowed_models: ['a*'] } },
  ],
  [
    'an end in the past',
    'POST /v1/keys',
    '400 invalid_request expires_at',
    { body: { name: 'x', expires_at: '2001-01-01T00:00:00Z' } },
  ],
  [
    'a misspelt budget',
    'POST /v1/keys',
    '400 unknown_parameter daily_spend_limit',
    { body: { name: 'x', daily_spend_limit: '5' } },
  ],
  [
    'another kind',
    'POST /v1/keys',
    '400 invalid_request kind',
    { body: { name: 'x', kind: 'provisioning' } },
  ],
  [
    'a secret of one’s own',
    'POST /v1/keys',
    '400 invalid_request key',
    { body: { name: 'x', key: 'if-mine' } },
  ],
  ['broken JSON', 'POST /v1/keys', '400 invalid_json', { body: '{' }],
  ['no object', 'POST /v1/keys', '400 invalid_request', { body: '[]' }],
  [
    'a form',
    'POST /v1/keys',
    '415 unsupported_media_type',
    { body: 'name=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
  ],
  ['a megabyte', 'POST /v1/keys', '413 request_too_large', { body: { name: 'x'.repeat(2 ** 20) } }],
  ['a page of 101', 'GET /v1/keys?limit=101', '400 invalid_request limit'],
  ['a place that is none', 'GET /v1/keys?after=1', '400 invalid_request after'],
  ['an unknown key: show', 'GET /v1/keys/key_none', '404 key_not_found'],
  ['an unknown key: amend', 'PATCH /v1/keys/key_none', '404 key_not_found', { body: {} }],
  ['an unknown key: revoke', 'DELETE /v1/keys/key_none', '404 key_not_found'],
  ['a path beside it', 'GET /v1/keys/key_none/secrets', '404 route_not_found'],
  ['another method', 'PUT /v1/keys', '405 method_not_allowed', { body: {} }],
]
