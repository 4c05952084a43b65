// Every page in every state that a person can see, by a descriptive name.
import type { Form } from '#pages/html.ts'
import { PASSKEY_SCRIPT } from '#pages/passkeys.ts'
import { POST_SCRIPT } from '#signin/pages/onward.ts'
import type { ErrorKind, PageView } from '#signin/pages/view.ts'

const form = (action: string): Form => ({
  action: `/sign-in/i9/${action}`,
  hidden: { csrf: 'c5rf-t0ken', interaction: 'i9' },
})

const clientName = 'Acme Notes'
const email = 'mira@example.com'

const signIn = {
  page: 'sign-in',
  clientName,
  form: form('email'),
  identities: [],
} as const

const identities = [
  { name: 'Google', mark: 'google', form: form('identity/google') },
  { name: 'GitHub', mark: 'github', form: form('identity/github') },
] as const

const code = {
  page: 'code',
  clientName,
  email,
  form: form('code'),
  resend: form('resend'),
  restart: form('restart'),
  minutes: 10,
  sentTo: 'mail',
} as const

const script = PASSKEY_SCRIPT.path
const passkey = {
  form: form('passkey'),
  options: '{"challenge":"c","rpId":"auth.example.com","note":"<b>\'"}',
}
const restart = form('restart')
const shown = { page: 'passkey', clientName, email, passkey, restart, script } as const
const made = { page: 'new-passkey', email, passkey, way: { restart }, script } as const

const consent = {
  page: 'consent',
  clientName,
  email,
  scopes: ['openid', 'email', 'profile'],
  form: form('consent'),
} as const

const confirm = {
  page: 'device-confirm',
  clientName,
  code: 'WDJB-MJHT',
  address: '198.51.100.7',
  form: form('device'),
} as const

const signOut = { page: 'sign-out', clientName, email, form: form('sign-out') } as const

const errorId = 'err_01k6z3n8qv4m7c2d'

const ERROR_KINDS: readonly ErrorKind[] = [
  'unknown-client',
  'unregistered-redirect',
  'bad-request',
  'expired',
  'other-browser',
  'not-found',
  'too-many-requests',
  'failed',
]

export const VIEWS: Readonly<Record<string, PageView>> = {
  'sign-in': { ...signIn, identities },
  'sign-in by e-mail only': { ...signIn, email },
  'sign-in by identity only': { ...signIn, form: undefined, identities },
  'sign-in, or go on as who is signed in': {
    ...signIn,
    identities,
    current: { email, form: form('continue') },
  },
  'sign-in in no way': { ...signIn, form: undefined },
  'sign-in unreadable': {
    ...signIn,
    email: 'mira at example',
    problem: { kind: 'unreadable' },
    identities,
  },
  'sign-in too many codes': { ...signIn, email, problem: { kind: 'too-many-codes', minutes: 3 } },
  'sign-in identity refused': {
    ...signIn,
    identities,
    problem: { kind: 'identity-refused', name: 'GitHub' },
  },
  'sign-in identity failed': {
    ...signIn,
    form: undefined,
    identities,
    problem: { kind: 'identity-failed', name: 'GitHub' },
  },
  'sign-in identity unproved': {
    ...signIn,
    identities,
    problem: { kind: 'identity-unproved', name: 'GitHub' },
  },
  'sign-in identity unknown': {
    ...signIn,
    form: undefined,
    identities,
    problem: { kind: 'identity-unknown', name: 'GitHub' },
  },
  'sign-in identity gone': { ...signIn, identities, problem: { kind: 'identity-gone' } },
  'sign-in with a passkey': { ...signIn, passkey, identities, script },
  'sign-in with a passkey alone': { ...signIn, passkey, script },
  'sign-in passkey too late': { ...signIn, passkey, script, problem: { kind: 'passkey-gone' } },
  'sign-in passkey refused': {
    ...signIn,
    passkey,
    script,
    identities,
    problem: { kind: 'passkey-refused' },
  },
  passkey: shown,
  'passkey refused': { ...shown, problem: { kind: 'passkey-refused' } },
  'passkey too late': { ...shown, problem: { kind: 'passkey-gone' } },
  'passkey offered': { ...made, way: { skip: form('skip-passkey') } },
  'passkey demanded': made,
  'passkey known': { ...made, problem: { kind: 'passkey-known' } },
  'passkey too many': { ...made, problem: { kind: 'passkey-too-many' } },
  'code of a browser that is asked for passkeys': { ...code, script },
  code: code,
  'code in the log': { ...code, sentTo: 'log' },
  'code sent again': { ...code, sentAgain: true },
  'code wrong': { ...code, problem: { kind: 'wrong', attemptsLeft: 4 } },
  'code wrong, last try': { ...code, problem: { kind: 'wrong', attemptsLeft: 1 } },
  'code unreadable': { ...code, problem: { kind: 'unreadable' } },
  'code expired': { ...code, problem: { kind: 'expired' } },
  'code spent': { ...code, problem: { kind: 'spent' } },
  'code too many': { ...code, problem: { kind: 'too-many-codes', minutes: 1 } },
  consent: consent,
  'consent to everything': {
    ...consent,
    scopes: [...consent.scopes, 'offline_access', 'crm:read'],
  },
  device: { page: 'device', form: form('device') },
  'device code unknown': {
    page: 'device',
    form: form('device'),
    code: 'WDJB-MJHT',
    problem: { kind: 'unknown' },
  },
  'device confirm': { ...confirm, email },
  'device confirm, nobody known': confirm,
  'device done': { page: 'device-done', clientName, email },
  'device denied': { page: 'device-denied' },
  'sign-out': signOut,
  'sign-out, nobody known': { page: 'sign-out', form: form('sign-out') },
  'signed-out': { page: 'signed-out' },
  'signed-out of a client': { page: 'signed-out', clientName },
  stayed: { page: 'stayed', email },
  'stayed, asked by a client': { page: 'stayed', clientName, email },
  disabled: { page: 'disabled', email, restart: form('restart') },
  'disabled, no way on': { page: 'disabled', email },
  'not allowed': {
    page: 'not-allowed',
    clientName,
    email,
    contact: 'Jane Doe <it@example.org>',
    leave: form('leave'),
    restart: form('restart'),
  },
  'not allowed until a code proves the address': {
    page: 'not-allowed',
    clientName,
    email,
    isUnproved: true,
    leave: form('leave'),
    restart: form('restart'),
  },
  'not allowed, nobody to ask': {
    page: 'not-allowed',
    clientName,
    leave: form('leave'),
    restart: form('restart'),
  },
  onward: { page: 'onward', to: '/oauth/authorize/i9' },
  posted: {
    page: 'posted',
    form: { action: '/oauth/logout/confirm', hidden: { xsrf: 'x9' } },
    script: POST_SCRIPT.path,
  },
  'error with words for developers': {
    page: 'error',
    kind: 'unregistered-redirect',
    code: 'invalid_redirect_uri',
    detail: 'redirect_uri did not match any of the client’s registered redirect_uris',
  },
  ...Object.fromEntries(
    ERROR_KINDS.map((kind): [string, PageView] => [
      `error ${kind}`,
      { page: 'error', kind, ...(kind === 'failed' && { errorId }) },
    ]),
  ),
  'a long name': {
    ...signIn,
    clientName:
      'Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz Portal of the Northern Office',
    email: `${'a-very-long-local-part'.repeat(3)}@subdomain.of.a.long.example.com`,
    identities,
  },
}
