/** `gatewayctl serve`: runs the gateway until a signal, then lets requests in progress complete. */
import { dirname } from 'node:path'
import { openStore } from '#db/index.ts'
import type { OpenAdmission } from '#domain/admission.ts'
import { GatewayError } from '#domain/errors.ts'
import { isLoopbackHost } from '#domain/loopback.ts'
import { within } from '#domain/within.ts'
import type { Finding } from '#operator/doctor/finding.ts'
import { perform } from '#operator/verb.ts'
import type { Brand } from '#pages/brand.ts'
import type { Gateway, GatewayOptions } from '#server/gateway.ts'
import type { TelemetryOptions } from '#server/observer.ts'
import type { GatewayStore } from '#signin/store.ts'
import { action, type Mount } from './action.ts'
import type { Context } from './context.ts'
import {
  CommandError,
  EXIT,
  endWithError,
  endWithLogLine,
  usageError,
  withExitCode,
} from './exit.ts'
import { readChoice } from './flags/read-choice.ts'
import { makePrivateDirectory } from './gateway/access.ts'
import { DamageError, toDamageError } from './gateway/damage.ts'
import { chooseDemoSocket, MAX_SOCKET_PATH_BYTES } from './gateway/demo-socket.ts'
import { openStoreOf, toOperatorDeps } from './gateway/open-operator.ts'
import { detach } from './serve/detach.ts'
import { notListening } from './serve/not-listening.ts'
import { startCrew, storePlaces } from './serve/processes.ts'
import { type ServeLog, startRequestLog } from './serve/request-log.ts'
import { listenForSignals } from './serve/signals.ts'
import { startRuntime } from './serve/start-runtime.ts'
import {
  admitHeirs,
  FIRST,
  handOver,
  serveByCrew,
  sharedPlace,
  type Turn,
  takeOver,
  tellOfTurn,
} from './serve/turns.ts'
import { readBrandSettings } from './settings/brand-settings.ts'
import {
  readServeSettings,
  readWait,
  type ServeFlags,
  type ServeSettings,
} from './settings/config.ts'
import { type DeliverySettings, readDeliverySettings } from './settings/delivery-settings.ts'
import { readMasterKey } from './settings/master-key.ts'
import { ownDirectoryOf } from './settings/shared-store.ts'
import {
  readSigninSettings,
  type SigninFlags,
  type SigninSettings,
} from './settings/signin-settings.ts'
import {
  DEFAULT_METRICS_LISTEN,
  readTelemetrySettings,
  type TelemetryFlags,
} from './settings/telemetry-settings.ts'
import { clean } from './terminal/clean.ts'
import { count } from './terminal/count.ts'
import { logLine } from './terminal/log-line.ts'
import { printNote } from './terminal/output.ts'
import { openOutlets, outletsDrained, writeError } from './terminal/streams.ts'

interface Flags extends ServeFlags, SigninFlags, TelemetryFlags {
  readonly demo?: boolean
  readonly log?: string
  readonly syncCharges?: boolean
  readonly drain: string
  readonly unready: string
  readonly takeover?: boolean
  readonly detach?: boolean
}

export const mount: Mount = (root) =>
  root
    .command('serve')
    .description('run the gateway until SIGTERM or Ctrl-C')
    .option('--listen <host:port>', 'address to listen on (GATEWAY_LISTEN, 127.0.0.1:4140)')
    .option('--base-url <url>', 'public URL for applications (GATEWAY_BASE_URL)')
    .option('--auth-listen <host:port>', 'address of the sign-in provider, or off (127.0.0.1:4141)')
    .option('--auth-url <url>', 'public URL of the sign-in provider (GATEWAY_AUTH_URL)')
    .option('--auth-signup <who>', 'open, closed, or domains: example.org (GATEWAY_AUTH_SIGNUP)')
    .option('--metrics-listen <host:port>', 'address for Prometheus /metrics (off)')
    .option('--processes <n>', 'serve by so many processes, or auto for one a core (1)')
    .option('--demo', 'run in memory, with a key and models that need no provider')
    .option('--log <format>', 'json or pretty; default: pretty on a terminal')
    .option('--sync-charges', 'sync every charge to disk, so that a power cut loses none')
    .option('--drain <duration>', 'how long to wait for requests in progress', '300s')
    .option('--unready <duration>', 'before that: how long /readyz says 503 already', '0s')
    .option('--takeover', 'take over from the gateway that serves, without an outage (--processes)')
    .option('--detach', 'return once it serves, and go on as a process of its own')
    .action(
      action(async (context, flags: Flags) => {
        // Whoever asks for JSON collects standard error as well.
        const isJsonLog = flags.log === 'json'
        const logged = { ...context, isJsonLog }
        if (flags.detach && flags.demo) throw ofDemo()
        if (flags.detach) return await detach(context)
        openServerOutput(logged, flags)
        await run(logged, flags).catch((thrown) => {
          const cause = ofUnhealthy(thrown)
          if (isJsonLog && !context.json) endWithLogLine(cause, logged)
          else endWithError(cause, context.typed, context)
        })
        await within(outletsDrained(), LAST_LINES_MS)
        // biome-ignore lint/nursery/noProcessExit: a pipe that nobody reads, or what a failed start left open, would keep it alive
        process.exit()
      }),
    )

const ofDemo = (): CommandError =>
  usageError(
    'a demo tells its key and its address here, and is not detached',
    'gatewayctl serve --demo &',
  )

/** How long the last lines wait for their reader. */
const LAST_LINES_MS = 1_000

/** A damaged database ends `serve` with 6, as it does `status` and `doctor`. */
function ofUnhealthy(thrown: unknown): unknown {
  const error = toDamageError(thrown, false)
  return error instanceof DamageError ? withExitCode(error, EXIT.unhealthy) : error
}

/** A server serves whether or not its output can be written: on a full disk, or into a pipe that nobody reads. */
function openServerOutput(context: Context, { log }: Flags): void {
  const { clock, isJsonLog } = context
  const render = (isJson: boolean) => (lines: number) =>
    isJson
      ? logLine(clock, 'warn', 'lines of this log were lost', { lines })
      : `! ${count(lines, 'line')} lost here: the disk was full, or nobody read\n`
  openOutlets({ out: render(!isPrettyLog(context, log)), error: render(isJsonLog) })
}

/** @throws CommandError, GatewayError */
async function run(context: Context, flags: Flags): Promise<void> {
  if (!flags.demo) checkSocketPath(context)
  const settings = readServeSettings(context, flags)
  const signin = readSigninSettings(context, flags, settings.port)
  const brand = await readBrandSettings(context)
  const delivery = readDeliverySettings(context)
  const telemetry = readTelemetrySettings(context, flags)
  const drainMs = readWait({ name: '--drain', text: flags.drain })
  const unreadyMs = readWait({ name: '--unready', text: flags.unready })
  const isPretty = readLogFormat(context, flags)
  warnOfClearText(context, settings)
  warnOfClearSignIn(context, signin)
  // A demo prints its banner also into a pipe, unless --log json was given.
  const showsBanner = isPretty || flags.log === undefined
  const options = { drainMs, unreadyMs, isPretty, showsBanner, isDemo: flags.demo === true }
  const given = { ...settings, signin, brand, delivery, telemetry }
  const log = startRequestLog(context, isPretty)
  const { takeover = false } = flags
  let turn: Turn | null = takeover ? await takeOver(context, given, options, log.fault) : FIRST
  while (turn !== null) {
    const store = flags.demo
      ? await openMemory(context)
      : await openOwn(context, flags.syncCharges === true, turn.legacy?.held ?? [])
    try {
      const masterKey = flags.demo ? null : readMasterKey(context, { create: false })
      turn = await serve(context, store, { ...given, masterKey }, options, turn, log)
    } finally {
      await store.close()
    }
  }
}

function checkSocketPath({ adminSocket }: Context): void {
  if (Buffer.byteLength(adminSocket) <= MAX_SOCKET_PATH_BYTES) return
  throw usageError(
    `the path of the command socket is longer than ${MAX_SOCKET_PATH_BYTES} bytes: ${adminSocket}`,
    'GATEWAY_ADMIN_SOCKET=/run/user/1000/gatewayctl.sock, for serve and for every command',
  )
}

const LOG_FORMATS = ['json', 'pretty'] as const

/** Whether lines are for people. @throws CommandError 2 for another format */
function readLogFormat(context: Context, { log }: Flags): boolean {
  return isPrettyLog(context, log === undefined ? log : readChoice('--log', log, LOG_FORMATS))
}

const isPrettyLog = (context: Context, format: string | undefined): boolean =>
  format === undefined ? context.isTerminal : format === 'pretty'

function warnOfClearText(context: Context, { hostname, baseUrl }: ServeSettings): void {
  if (isLoopbackHost(hostname) || baseUrl.startsWith('https:')) return
  printNote(
    context,
    `! listening on ${hostname} without TLS: keys travel in clear text
  put a TLS proxy in front and give its URL: --base-url https://gateway.example`,
  )
}

function warnOfClearSignIn(context: Context, signin: SigninSettings | null): void {
  const { authUrl, hostname } = signin ?? {}
  if (hostname === undefined || authUrl?.startsWith('https:')) return
  const named = authUrl == null ? hostname : new URL(authUrl).hostname
  if (isLoopbackHost(hostname) && isLoopbackHost(named)) return
  printNote(
    context,
    `! sign-in without TLS: codes and sessions travel in clear text
  put a TLS proxy in front and give its URL: --auth-url https://auth.example`,
  )
}

async function openMemory({ clock }: Context): Promise<GatewayStore> {
  // Signing keys are encrypted even in memory.
  const masterKey = crypto.getRandomValues(new Uint8Array(32))
  return await openStore({ dataDir: ':memory:', clock, masterKey })
}

async function openOwn(
  context: Context,
  syncCharges: boolean,
  held: readonly OpenAdmission[],
): Promise<GatewayStore> {
  const store = await openStoreOf(context, {
    create: true,
    upgrade: true,
    withMasterKey: true,
    syncCharges,
    serves: true,
    held,
  }).catch((thrown: unknown) => {
    throw isLocked(thrown) ? alreadyServed(thrown) : thrown
  })
  try {
    const { initialise } = await import('#operator/init.ts')
    // A container starts with an empty volume and without `init`; the operator creates a first key later.
    const deps = await toOperatorDeps(context, store, ownDirectoryOf(context))
    await perform(initialise, deps, { first_key: false })
    const { markCatalogued } = await import('#operator/catalog.ts')
    await markCatalogued(deps)
    const { checkProviders } = await import('#operator/doctor/models.ts')
    warnOfProviders(context, await checkProviders(deps))
    return store
  } catch (cause) {
    await store.close()
    throw cause
  }
}

/** Of what fails every request to a provider, as a master key that is lost does. */
function warnOfProviders(context: Context, findings: readonly Finding[]): void {
  for (const { level, message, next } of findings) {
    if (level === 'problem') printNote(context, clean(`! ${message}; next: ${next}`))
  }
}

const isLocked = (thrown: unknown): thrown is GatewayError =>
  thrown instanceof GatewayError && thrown.details.metadata?.['held_directory'] !== undefined

/** Other commands use the socket of the process that holds the directory; `serve` cannot. */
const alreadyServed = ({ code, message }: GatewayError): CommandError =>
  new CommandError(
    code,
    EXIT.failed,
    message,
    'stop it first, or serve another directory: --data-dir DIR; its state: gatewayctl status',
  )

interface Settings extends ServeSettings {
  readonly signin: SigninSettings | null
  readonly brand: Brand
  readonly delivery: DeliverySettings
  readonly telemetry: TelemetryOptions
  readonly masterKey: Uint8Array | null
}

interface RunOptions {
  readonly drainMs: number
  readonly unreadyMs: number
  readonly isPretty: boolean
  /** Whether a demo prints its banner. */
  readonly showsBanner: boolean
  readonly isDemo: boolean
}

async function serve(
  context: Context,
  store: GatewayStore,
  settings: Settings,
  { drainMs, unreadyMs, isPretty, showsBanner: welcomes, isDemo }: RunOptions,
  turn: Turn,
  log: ServeLog,
): Promise<Turn | null> {
  const { startGateway } = await import('#server/gateway.ts')
  const { VERSION } = await import('./version.ts')
  const stopping = turn.stopping ?? listenForSignals()
  // Before any client can connect.
  await startRuntime()
  const demoSocket = isDemo ? await chooseDemoSocket(context) : null
  if (!isDemo) makePrivateDirectory(dirname(context.adminSocket))
  const adminSocket = demoSocket === null ? context.adminSocket : demoSocket.path
  const { processes: count } = settings
  const isMany = count > 1 && adminSocket !== null
  const telemetry = telemetryOf(settings, turn, isMany)
  const crew = isMany
    ? (turn.crew ??
      (await startCrew(count, adminSocket, turn.unix ?? storePlaces(adminSocket)[0], log.fault)))
    : null
  const gateway = await startGateway({
    store,
    clock: context.clock,
    settings: settings.gateway,
    activityKeptMs: settings.activityKeptMs,
    listen: settings,
    ...(settings.port === 0 ? {} : { baseUrl: `${settings.baseUrl}/v1` }),
    adminSocket: turn.adminDoor ?? adminSocket,
    ...(crew && { serve: await serveByCrew(crew, count, telemetry, turn, log) }),
    version: VERSION,
    dataDir: isDemo ? null : ownDirectoryOf(context),
    delivery: settings.delivery,
    telemetry,
    masterKey: settings.masterKey,
    ...signinOf(context, settings, isDemo, turn, isMany),
    log: log.note,
    logFault: log.fault,
  }).catch((cause: unknown) => {
    throw notListening(cause, settings, 'gatewayctl serve --listen 127.0.0.1:4150')
  })
  try {
    await greet(
      context,
      store,
      settings,
      { gateway, demoSocket, welcomes, isPretty },
      stopping.asked,
    )
  } catch (cause) {
    await gateway.stop(0)
    throw cause
  }

  const { masterKey } = settings
  if (crew && !isDemo) admitHeirs(crew, context, store, masterKey, gateway)
  await tellOfTurn(context, turn, crew)
  const heir = await Promise.race([stopping.asked, ...(crew ? [crew.succession] : [])])
  if (heir) {
    const next = await handOver(context, heir, { gateway, crew, store }, stopping)
    log.flush()
    return next
  }
  crew?.refuseHeirs()
  await gateway.look()
  const { inFlight } = gateway.live()
  if (inFlight > 0)
    printNote(context, `stopping: waiting up to ${drainMs / 1000} s for ${inFlight} in progress`)
  void stopping.askedAgain.then(() => gateway.stop(0))
  await gateway.stop(drainMs, unreadyMs)
  log.flush()
  return null
}

interface Greeting {
  readonly gateway: Gateway
  /** Null for a gateway that is no demo. */
  readonly demoSocket: Awaited<ReturnType<typeof chooseDemoSocket>> | null
  readonly welcomes: boolean
  readonly isPretty: boolean
}

/** Says where it listens; a demo gets a key and traffic. */
async function greet(
  context: Context,
  store: GatewayStore,
  settings: Settings,
  { gateway, demoSocket, welcomes, isPretty }: Greeting,
  stopping: Promise<void>,
): Promise<void> {
  const baseUrl = settings.port === 0 ? gateway.url : settings.baseUrl
  const { showDemoBanner, showBanner } = await import('./serve/banner.ts')
  const { authUrl, metricsUrl } = gateway
  const addresses = { baseUrl: `${baseUrl}/v1`, authUrl, metricsUrl }
  if (demoSocket === null) showBanner(context, addresses, isPretty)
  else {
    const cabinetUrl = settings.signin?.cabinet && authUrl && `${authUrl}/cabinet`
    const shown = { ...addresses, demoSocket, cabinetUrl: cabinetUrl ?? null }
    await showDemoBanner(context, store, shown, welcomes)
    if (welcomes) {
      const { startDemoTraffic } = await import('./serve/demo-traffic.ts')
      await startDemoTraffic(context, store, `${baseUrl}/v1`, stopping)
    }
  }
  if (metricsUrl !== null) printNote(context, `metrics on ${metricsUrl}`)
}

function telemetryOf(
  { telemetry: { metrics, traces } }: Settings,
  turn: Turn,
  isMany: boolean,
): TelemetryOptions {
  if (metrics === null) return { metrics, traces }
  const refused = (cause: unknown): unknown =>
    notListening(
      cause,
      metrics.listen,
      `gatewayctl serve --metrics-listen ${DEFAULT_METRICS_LISTEN}`,
    )
  const listen = turn.metrics ?? sharedPlace(metrics.listen, isMany)
  return { metrics: { ...metrics, listen, refused }, traces }
}

function signinOf(
  context: Context,
  { signin, brand }: Settings,
  isDemo: boolean,
  turn: Turn,
  isMany: boolean,
): Pick<GatewayOptions, 'signin' | 'signinMissing'> {
  if (signin === null) return {}
  const { hostname, port, authUrl, signup, passkeys, contact, limits, cabinet, isStated } = signin
  const logCode = (email: string, code: string): void => {
    writeError(
      context.isJsonLog
        ? logLine(context.clock, 'info', 'sign-in code', { email, code })
        : `sign-in code for ${clean(email)}: ${code}\n`,
    )
  }
  return {
    signin: {
      listen: turn.auth ?? sharedPlace({ hostname, port }, isMany),
      authUrl,
      signup,
      passkeys,
      contact,
      brand,
      limits,
      cabinet,
      logCode: isDemo ? logCode : null,
    },
    signinMissing(cause) {
      if (cause instanceof GatewayError) {
        printNote(context, `! sign-in is off: ${cause.message}`)
        return
      }
      if (isStated)
        throw notListening(cause, signin, 'gatewayctl serve --auth-listen 127.0.0.1:4151')
      printNote(
        context,
        `! sign-in is off: cannot listen on ${hostname}:${port}
  choose another address: --auth-listen 127.0.0.1:4151, or off`,
      )
    },
  }
}
