/** What `serve` says first: where it listens, and for the demo all that a stranger needs to ask. */

import { initialise } from '#operator/init.ts'
import { perform } from '#operator/verb.ts'
import type { GatewayStore } from '#signin/store.ts'
import type { Context } from '../context.ts'
import { hasNoPlace } from '../gateway/demo-socket.ts'
import { toOperatorDeps } from '../gateway/open-operator.ts'
import { clean } from '../terminal/clean.ts'
import { print } from '../terminal/output.ts'
import { VERSION } from '../version.ts'

/** Low, so that the first 429 and its headers are seen within a minute. */
const DEMO_RPM = 10
const DEMO_CREDIT_USD = '10'

export function showBanner(baseUrl: string, authUrl: string | null, dataDir: string): void {
  const signin = authUrl === null ? '' : `, sign-in on ${authUrl}`
  print(`gatewayctl v${VERSION}  ${dataDir}\nlistening on ${baseUrl}${signin}; ctrl-c stops`)
}

interface DemoAddresses {
  readonly baseUrl: string
  readonly authUrl: string | null
  /** Where commands reach it, or why they cannot. */
  readonly demoSocket: { readonly path: string | null; readonly why: string }
}

/** Furnishes the store in memory and prints lines that work as pasted. */
export async function showDemoBanner(
  context: Context,
  store: GatewayStore,
  { baseUrl, authUrl, demoSocket }: DemoAddresses,
): Promise<void> {
  const { key, models } = await perform(initialise, toOperatorDeps(context, store, null), {
    key_name: 'demo',
    demo_credit_usd: DEMO_CREDIT_USD,
    rpm_limit: DEMO_RPM,
  })
  const secret = key?.key ?? ''
  print(
    [
      `gatewayctl v${VERSION}  DEMO — in-memory, nothing is saved, no upstream is called`,
      '',
      `  base URL   ${baseUrl}`,
      `  key        ${secret}   (${DEMO_RPM} requests a minute, $${DEMO_CREDIT_USD} to spend)`,
      `  models     ${models.join('  ')}`,
      `  docs       ${new URL('/openapi.json', baseUrl)}`,
      ...(authUrl === null ? [] : await signinLines(context, store, authUrl)),
      '',
      `  export OPENAI_BASE_URL=${baseUrl} OPENAI_API_KEY=${secret}`,
      '',
      curl(baseUrl, secret, '{"model":"demo/echo","messages":[{"role":"user","content":"hi"}]}'),
      '',
      curl(
        baseUrl,
        secret,
        '{"model":"demo/lorem","stream":true,"messages":[{"role":"user","content":"hi"}]}',
      ),
      '',
      `listening; ctrl-c stops.  ${commandsLine(context, demoSocket)}`,
    ].join('\n'),
  )
}

const DEMO_REDIRECT = 'http://localhost:3000/callback'

/** What to type beside it: plainly, unless a command would find a data directory first. */
function commandsLine(context: Context, { path, why }: DemoAddresses['demoSocket']): string {
  if (path === null) return `No commands reach this demo: ${clean(why)}`
  return hasNoPlace(context)
    ? 'In another terminal: gatewayctl dashboard'
    : `In another terminal:\n  GATEWAY_ADMIN_SOCKET=${clean(path)} gatewayctl dashboard`
}

/** A client to try signing in with at once. */
async function signinLines(
  context: Context,
  store: GatewayStore,
  authUrl: string,
): Promise<readonly string[]> {
  const { createClient } = await import('#operator/clients.ts')
  const client = { name: 'Demo', redirect_uris: [DEMO_REDIRECT] }
  const { client_id, client_secret } = await perform(
    createClient,
    toOperatorDeps(context, store, null),
    client,
  )
  return [
    `  sign-in    ${authUrl}   (codes are printed here)`,
    `  client     ${client_id}  ${client_secret}  ${DEMO_REDIRECT}`,
  ]
}

const curl = (baseUrl: string, secret: string, body: string): string =>
  [
    `  curl -sN ${baseUrl}/chat/completions -H 'authorization: Bearer ${secret}' \\`,
    `    -H 'content-type: application/json' -d '${body}'`,
  ].join('\n')
