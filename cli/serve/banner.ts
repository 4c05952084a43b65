/** The first output of `serve`: its addresses, and for the demo also a key and example commands. */
import { renderAddress } from '#db/postgres/engine/address.ts'
import { renderInstant } from '#domain/clock.ts'
import { initialise } from '#operator/init.ts'
import { perform } from '#operator/verb.ts'
import type { GatewayStore } from '#signin/store.ts'
import type { Context } from '../context.ts'
import { hasNoGateway } from '../gateway/demo-socket.ts'
import { toOperatorDeps } from '../gateway/open-operator.ts'
import { readSharedStore } from '../settings/shared-store.ts'
import { clean } from '../terminal/clean.ts'
import { print } from '../terminal/output.ts'
import { VERSION } from '../version.ts'

/** Low, so that the first 429 and its headers are seen within a minute. */
const DEMO_RPM = 10
const DEMO_CREDIT_USD = '10'

interface Addresses {
  readonly baseUrl: string
  readonly authUrl: string | null
  readonly metricsUrl: string | null
}

/** With a JSON log it is one line of that log. */
export function showBanner(context: Context, addresses: Addresses, isPretty: boolean): void {
  const shared = readSharedStore(context)
  const place = shared === null ? context.dataDir : renderAddress(shared.address)
  if (!isPretty) {
    printLine(
      context,
      addresses,
      shared === null ? { data_dir: place } : { store: place, node: shared.node },
    )
    return
  }
  const { baseUrl, authUrl } = addresses
  const signin = authUrl === null ? '' : `, sign-in on ${authUrl}`
  print(`gatewayctl v${VERSION}  ${place}\nlistening on ${baseUrl}${signin}; ctrl-c stops`)
}

function printLine(
  { clock }: Context,
  { baseUrl, authUrl, metricsUrl }: Addresses,
  more: Readonly<Record<string, unknown>>,
): void {
  const line = {
    ts: renderInstant(clock.now()),
    level: 'info',
    msg: 'listening',
    version: VERSION,
    base_url: baseUrl,
    auth_url: authUrl,
    metrics_url: metricsUrl,
    ...more,
  }
  print(JSON.stringify(line))
}

interface DemoAddresses extends Addresses {
  /** The socket for commands, or why there is none. */
  readonly demoSocket: { readonly path: string | null; readonly why: string }
  /** Null where the cabinet is off. */
  readonly cabinetUrl: string | null
}

/** Fills the store in memory and prints commands to paste, or the same data as one line of the JSON log. */
export async function showDemoBanner(
  context: Context,
  store: GatewayStore,
  { demoSocket, cabinetUrl, ...addresses }: DemoAddresses,
  isPretty: boolean,
): Promise<void> {
  const { baseUrl, authUrl } = addresses
  const { key, models } = await perform(initialise, await toOperatorDeps(context, store, null), {
    key_name: 'demo',
    demo_credit_usd: DEMO_CREDIT_USD,
    rpm_limit: DEMO_RPM,
  })
  const secret = key?.key ?? ''
  if (cabinetUrl !== null) await addOwner(context, store)
  const client = authUrl === null ? null : await makeClient(context, store)
  if (!isPretty) {
    const admin_socket = demoSocket.path
    printLine(context, addresses, { demo: true, key: secret, models, client, admin_socket })
    return
  }
  print(
    [
      `gatewayctl v${VERSION}  DEMO — in-memory, nothing is saved, no upstream is called`,
      '',
      `  base URL   ${baseUrl}`,
      `  key        ${secret}   (${DEMO_RPM} requests a minute, $${DEMO_CREDIT_USD} to spend)`,
      `  models     ${models.join('  ')}`,
      `  docs       ${new URL('/openapi.json', baseUrl)}`,
      ...(client === null
        ? []
        : [
            `  sign-in    ${authUrl}   (codes are printed here)`,
            ...(cabinetUrl === null ? [] : [`  cabinet    ${cabinetUrl}   (as ${DEMO_OWNER})`]),
            `  client     ${client.client_id}  ${client.client_secret}  ${DEMO_REDIRECT}`,
          ]),
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

/** Who may look after the demo's account. */
const DEMO_OWNER = 'you@example.org'

const addOwner = async (context: Context, store: GatewayStore): Promise<void> => {
  const { addMember } = await import('#operator/members.ts')
  const owner = { email: DEMO_OWNER, role: 'owner' }
  await perform(addMember, await toOperatorDeps(context, store, null), owner)
}

const DEMO_REDIRECT = 'http://localhost:3000/callback'

/** The command to try next; with the socket, where commands would otherwise use a data directory. */
function commandsLine(context: Context, { path, why }: DemoAddresses['demoSocket']): string {
  if (path === null) return `Commands cannot reach this demo: ${clean(why)}`
  return hasNoGateway(context)
    ? 'In another terminal: gatewayctl dashboard'
    : `In another terminal:\n  GATEWAY_ADMIN_SOCKET=${clean(path)} gatewayctl dashboard`
}

/** A client for trying out sign-in. */
async function makeClient(context: Context, store: GatewayStore) {
  const { createClient } = await import('#operator/clients.ts')
  const client = { name: 'Demo', redirect_uris: [DEMO_REDIRECT] }
  const deps = await toOperatorDeps(context, store, null)
  const { client_id, client_secret, redirect_uris } = await perform(createClient, deps, client)
  return { client_id, client_secret, redirect_uris }
}

const curl = (baseUrl: string, secret: string, body: string): string =>
  [
    `  curl -sN ${baseUrl}/chat/completions -H 'authorization: Bearer ${secret}' \\`,
    `    -H 'content-type: application/json' -d '${body}'`,
  ].join('\n')
