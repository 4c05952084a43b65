/** The paths of the sign-in listener, and the methods that each supports. */

/** A page's actions, each the last segment of its form's path. */
export const STEPS = [
  'email',
  'code',
  'resend',
  'restart',
  'consent',
  'continue',
  'leave',
  'passkey',
  'new-passkey',
  'skip-passkey',
] as const

export type Step = (typeof STEPS)[number]

export const isStep = (text: string): text is Step => (STEPS as readonly string[]).includes(text)

export const AUTHORIZE = '/oauth/authorize'
export const LOGOUT = '/oauth/logout'
export const TOKEN = '/oauth/token'
export const USERINFO = '/oauth/userinfo'
export const REVOKE = '/oauth/revoke'
export const DEVICE_AUTHORIZATION = '/oauth/device'
/** Where people type the code that a device shows: short, because it is typed too. */
export const DEVICE = '/device'

const GET = ['GET', 'HEAD']
const POST = ['POST']

/** Compared as written: the library ignores case, but the rate limits in `app.ts` apply to this spelling only. */
const ROUTES: readonly (readonly [path: RegExp, methods: readonly string[]])[] = [
  [/^\/\.well-known\/(openid-configuration|oauth-authorization-server)$/, GET],
  [/^\/oauth\/(authorize|userinfo|logout)$/, [...GET, ...POST]],
  [/^\/oauth\/(jwks|logout\/success|authorize\/[^/]+)$/, GET],
  [/^\/oauth\/(token|revoke|device|logout\/confirm)$/, POST],
  [/^\/device$/, [...GET, ...POST]],
  [/^\/device\/[^/]+$/, GET],
  [/^\/identity\/[^/]+\/callback$/, GET],
  [/^\/assets\/[^/]+$/, GET],
  [/^\/sign-in\/[^/]+$/, GET],
  [new RegExp(`^/sign-in/[^/]+/(${STEPS.join('|')}|identity/[^/]+)$`), [...GET, ...POST]],
]

/** The methods of a path, OPTIONS included; undefined if there is no such path. */
export function methodsOf(pathname: string): readonly string[] | undefined {
  const methods = ROUTES.find(([path]) => path.test(pathname))?.[1]
  return methods && [...methods, 'OPTIONS']
}
