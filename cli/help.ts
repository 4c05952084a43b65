/** The help pages: what a new operator sees, the page of a command, and the topics. */
import { EXIT, usageError } from './exit.ts'
import { NOUNS } from './nouns.ts'
import { print } from './terminal/output.ts'

const SECTIONS: readonly (readonly [title: string, nouns: readonly string[]])[] = [
  ['Start', ['init', 'serve', 'status', 'dashboard']],
  ['Keys', ['keys', 'limits', 'accounts']],
  ['Models', ['providers', 'models']],
  ['As a file', ['export', 'apply']],
  ['Money', ['balance', 'ledger', 'usage', 'reconcile', 'rates', 'thresholds']],
  ['People', ['users', 'groups', 'clients', 'identities']],
  [
    'Operations',
    [
      'activity',
      'why',
      'notices',
      'deliveries',
      'audit',
      'backup',
      'doctor',
      'config',
      'store',
      'nodes',
      'completion',
    ],
  ],
]

const TOPICS: Readonly<Record<string, () => string | Promise<string>>> = {
  'exit-codes': exitCodes,
  environment,
  json: async () => (await import('./help-topics.ts')).JSON_TOPIC,
  'first-run': async () => (await import('./help-topics.ts')).FIRST_RUN_TOPIC,
  openapi,
}

/** The help topics beside commands. */
export const TOPIC_NAMES = Object.keys(TOPICS)

/** `help` and `help <topic>`; for `help <noun> [<verb>]` it returns the command line to run instead. @throws CommandError 2 for anything else */
export async function showHelp(
  words: readonly string[],
  rest: readonly string[],
): Promise<readonly string[] | null> {
  const topic = words[0] ?? rest.find((arg) => !arg.startsWith('-'))
  if (topic === undefined) {
    showFront(rest)
    return null
  }
  const page = Object.hasOwn(TOPICS, topic) ? TOPICS[topic] : undefined
  if (page) {
    print(await page())
    return null
  }
  if (!Object.hasOwn(NOUNS, topic)) {
    const { didYouMean, nearest } = await import('#forms/nearest.ts')
    const meant = nearest(topic, [...TOPIC_NAMES, ...Object.keys(NOUNS)])
    throw usageError(
      `there is no help on "${topic}"${didYouMean(meant && `gatewayctl help ${meant}`)}`,
      `gatewayctl help    topics: ${TOPIC_NAMES.join(', ')}`,
    )
  }
  return [topic, ...words.slice(1), ...rest, '--help']
}

function showFront(rest: readonly string[]): void {
  const known = ['-h', '--help', '--no-color', '--json', '-q', '--quiet', '--debug', '--no-input']
  const strange = rest.find((arg) => !known.includes(arg))
  if (strange !== undefined) throw usageError(`unknown option '${strange}'`, 'gatewayctl help')
  print(front())
}

function front(): string {
  const sections = SECTIONS.map(([title, nouns]) =>
    [title, ...nouns.map((noun) => `  ${noun.padEnd(14)}${NOUNS[noun]?.summary}`)].join('\n'),
  )
  return [
    'gatewayctl — your own gateway to language and image models',
    '',
    ...sections,
    '',
    "Example   gatewayctl keys create prod-web --rpm 60 --daily-usd 20 --allow 'openai/*'",
    `Topics    gatewayctl help ${TOPIC_NAMES.join(' | ')}`,
    'Flags     gatewayctl <command> --help',
  ].join('\n')
}

function exitCodes(): string {
  return [
    [EXIT.ok, 'ok'],
    [EXIT.failed, 'the operation failed; where its output was lost, the error says what was done'],
    [EXIT.usage, 'usage: a bad flag or value, a missing argument'],
    [EXIT.notFound, 'no such object, or the name is ambiguous'],
    [EXIT.notRunning, 'the server is not running or not reachable'],
    [EXIT.unconfirmed, 'needs confirmation, or was declined'],
    [
      EXIT.unhealthy,
      'unhealthy (status, doctor, providers test, thresholds test, notices test, reconcile without a bill)',
    ],
    [EXIT.crash, 'crash: a bug in gatewayctl'],
    [EXIT.interrupted, 'interrupted (Ctrl-C)'],
  ]
    .map(([code, meaning]) => `${String(code).padStart(3)}  ${meaning}`)
    .join('\n')
}

function environment(): string {
  return [
    ['GATEWAY_DATA_DIR', 'data directory of the gateway (~/.local/share/gatewayctl)'],
    ['GATEWAY_CONFIG', 'configuration file (~/.config/gatewayctl/config.toml)'],
    ['GATEWAY_LISTEN', 'address to listen on (127.0.0.1:4140)'],
    ['GATEWAY_PROCESSES', 'how many processes serve, or auto for one a core (1)'],
    ['GATEWAY_STORE', 'postgres://user@host:5432/database for a store that several nodes share'],
    ['GATEWAY_STORE_PASSWORD_FILE', 'file with the password of its user'],
    ['GATEWAY_NODE', 'name of this node among those that share it (the name of the machine)'],
    ['GATEWAY_BASE_URL', 'public URL for applications'],
    ['GATEWAY_AUTH_LISTEN', 'address of the sign-in provider, or off (127.0.0.1:4141)'],
    ['GATEWAY_AUTH_URL', 'public URL of the sign-in provider'],
    ['GATEWAY_AUTH_SIGNUP', 'open, closed (only whom `users add` named), or domains (open)'],
    ['GATEWAY_AUTH_PASSKEYS', 'passkeys: off, optional or required (optional)'],
    ['GATEWAY_CABINET', 'web pages of the people who own an account: on, or off (on)'],
    ['GATEWAY_CABINET_CONTACT', 'whom people may ask for access: a name, an address'],
    ['GATEWAY_BRAND_NAME', 'your name on sign-in pages, the cabinet and mails'],
    ['GATEWAY_BRAND_LOGO', 'file of a logo for the pages: PNG, JPEG, WebP or SVG, to 256 KiB'],
    ['GATEWAY_BRAND_COLOR', 'colour of buttons and links, as #1f544b'],
    ['GATEWAY_AUTH_CODES_PER_ADDRESS', 'codes to one address from one network in 15 minutes (5)'],
    ['GATEWAY_AUTH_CODES_PER_NETWORK', 'codes from one network in an hour (200)'],
    ['GATEWAY_AUTH_SIGNINS_PER_NETWORK', 'sign-ins from one network in 10 minutes (100)'],
    ['GATEWAY_UPSTREAM_…', 'CONNECT_, FIRST_BYTE_, SILENCE_, TOTAL_TIMEOUT (10s 120s 120s 30m)'],
    ['GATEWAY_RESERVE_OUTPUT_TOKENS', 'an answer is not bounded below it for want of money (4096)'],
    ['GATEWAY_RESERVE_WAIT', 'how long a request waits for money held by others; 0s: not (30s)'],
    ['GATEWAY_MEMORY_BUDGET_MIB', 'memory for bodies and unread answers, half of it per key (256)'],
    ['GATEWAY_RETENTION_ACTIVITY', 'how long the log keeps a request: 24h or more, or none (90d)'],
    ['GATEWAY_ADMIN_SOCKET', 'Unix socket for commands (<data>/run/admin.sock)'],
    ['GATEWAY_MASTER_KEY_FILE', 'file with the key that encrypts credentials (<data>/master.key)'],
    ['GATEWAY_MASTER_KEY', 'the key itself; a file is safer'],
    [
      'GATEWAY_SMTP_URL_FILE',
      'file with the mail server: smtp://user:password@host:587, or smtps://',
    ],
    ['GATEWAY_SMTP_URL', 'the address itself; a file is safer'],
    ['GATEWAY_SMTP_FROM', 'sender: Gateway <gateway@example.org>'],
    ['GATEWAY_ALLOW_PRIVATE_WEBHOOKS', '1: webhooks may go to https on private networks'],
    [
      'GATEWAY_ALLOW_LOOPBACK_WEBHOOKS',
      '1: webhooks may go to http on this machine, to try them out',
    ],
    ['GATEWAY_METRICS_LISTEN', 'address for Prometheus /metrics, or off (off)'],
    ['GATEWAY_METRICS_TOKEN_FILE', 'file with the bearer token of scrapes; needed beyond loopback'],
    ['GATEWAY_METRICS_TOKEN', 'the token itself; a file is safer'],
    [
      'GATEWAY_TRACES_ENDPOINT',
      'endpoint for traces (OTLP, http/json): http://127.0.0.1:4318/v1/traces',
    ],
    ['OTEL_EXPORTER_OTLP_…', 'ENDPOINT, TRACES_ENDPOINT, HEADERS; also OTEL_SERVICE_NAME'],
    ['GATEWAY_NO_INPUT', 'never prompt, as --no-input'],
    ['GATEWAY_ASCII', 'dashboard with ASCII characters only, as --ascii'],
    ['NO_COLOR, FORCE_COLOR', 'disable colour, or force it in a pipe'],
  ]
    .map(([name, meaning]) => `${name?.padEnd(33)}${meaning}`)
    .join('\n')
}

/** The description of the HTTP interface, as a running gateway serves it at /openapi.json. */
async function openapi(): Promise<string> {
  const { renderDocument } = await import('#http/openapi/document.ts')
  const { VERSION } = await import('./version.ts')
  return JSON.stringify(renderDocument(VERSION), null, 2)
}
