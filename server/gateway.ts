/** Composes a running gateway: HTTP API, operator API on its socket, and sign-in on its own listener, over one store. */
import { ACTIVITY_KEPT_MS } from '#domain/activity.ts'
import type { Clock } from '#domain/clock.ts'
import { GatewayError } from '#domain/errors.ts'
import { DEFAULT_SETTINGS, type Settings } from '#domain/settings.ts'
import { startPulse } from '#domain/snapshot/pulse.ts'
import { createSteadyClock, type SteadyClock } from '#domain/steady-clock.ts'
import { systemCodeOf } from '#domain/system-code.ts'
import type { CompletionDeps } from '#domain/walk/walk.ts'
import { createApi } from '#http/app.ts'
import { type ApiDeps, toApiDeps } from '#http/deps.ts'
import { shuttingDown } from '#http/render-error.ts'
import type { RequestLog } from '#http/request-log.ts'
import { openSeals } from '#http/seals.ts'
import { DEFAULT_TIMINGS, type Timings } from '#http/timings.ts'
import { type Courier, startCourier } from '#notify/courier.ts'
import type { SmtpServer } from '#notify/smtp-server.ts'
import { type WebhookPermissions, webhookPolicy } from '#notify/webhook-policy.ts'
import { operatorApp } from '#operator/app.ts'
import type { LiveFacts } from '#operator/deps.ts'
import type { GatewayStore } from '#signin/store.ts'
import { demoCards, demoProvider } from '#upstream/demo/cards.ts'
import { createProbe } from '#upstream/probe.ts'
import { openAdminSocket } from './admin-socket.ts'
import { drain } from './drain.ts'
import { type Listener, listen } from './listener.ts'
import { type Observer, startObserver, type TelemetryOptions } from './observer.ts'
import { type SigninListener, type SigninOptions, startSignin } from './signin-listener.ts'
import { type Sweeper, startSweeper } from './sweeper.ts'
import { mailTrial } from './trial-mail.ts'
import { createUpstreamCache } from './upstream-cache.ts'
import { openWatch } from './watch.ts'

export interface GatewayOptions {
  readonly store: GatewayStore
  readonly clock: Clock
  readonly settings?: Settings
  readonly timings?: Timings
  /** Port 0 picks a free port. */
  readonly listen: { readonly hostname: string; readonly port: number }
  /** The public URL including `/v1`, as shown to operators. */
  readonly baseUrl?: string
  /** Null opens no socket for operators. */
  readonly adminSocket: string | null
  readonly version?: string
  /** Shown to operators; null if everything is in memory. */
  readonly dataDir?: string | null
  /** How notices are delivered; without it they stay in the outbox. */
  readonly delivery?: { readonly smtp: SmtpServer | null; readonly webhooks: WebhookPermissions }
  /** The sign-in provider on its own listener; without it nobody signs in. */
  readonly signin?: SigninOptions
  /** Called if the sign-in provider cannot start; may throw, else the gateway starts without it. */
  readonly signinMissing?: (cause: unknown) => void
  /** How long the log keeps ended requests, null for ever; `ACTIVITY_KEPT_MS` by default. */
  readonly activityKeptMs?: number | null
  readonly log?: RequestLog | null
  /** Metrics and traces, if an operator enabled them. */
  readonly telemetry?: TelemetryOptions
  /** What clients keep for the gateway is sealed under it; without one it can be read until the process ends. */
  readonly masterKey?: Uint8Array | null
  /** Opens a provider's upstream; by default by the wire family of its type. */
  readonly upstreamFor?: CompletionDeps['upstreamFor']
  /** Logs an error outside any client request. */
  readonly logFault?: (cause: unknown, errorId?: string) => void
}

export interface Gateway {
  /** The listening address: `http://host:port`. */
  readonly url: string
  /** `{auth_url}`; null without the sign-in provider. */
  readonly authUrl: string | null
  /** The URL of the metrics; null if they are disabled. */
  readonly metricsUrl: string | null
  live(): { readonly inFlight: number }
  /**
   * Refuses new chat requests, waits at most `drainMs` for those in progress, fails the rest with `shutting_down`, and resolves
   * when all are settled and no notice is being sent. The caller closes the store. A second call with 0 ends the drain at once.
   */
  stop(drainMs: number): Promise<void>
}

/** Starts listening; the store must stay open until `stop` has resolved. */
export async function startGateway(given: GatewayOptions): Promise<Gateway> {
  let draining = false
  const observer = await startObserver(toObserved(given))
  const options = { ...given, log: observer.log }
  const pulse = startPulse()
  const deps = toDeps(options, {
    ended: observer.ending(pulse.note),
    draining: () => draining,
    disableIdleTimeout: (request) => listener.disableIdleTimeout(request),
    restoreIdleTimeout: (request) => listener.restoreIdleTimeout(request),
  })
  const api = createApi(deps)
  const metricsUrl = observer.open(deps)
  const steadyClock = createSteadyClock(options.clock, await options.store.steadyTime.last())
  // First, because it takes longest: once the API listens, the operator's socket follows at once.
  const signin = await openSignin(options, steadyClock, observer)
  let listener: Listener
  try {
    const answer = observer.before(api.fetch)
    listener = listen(options.listen, answer)
  } catch (cause) {
    await Promise.all([signin?.stop(), observer.stop()])
    throw cause
  }
  const inFlight = (): number => deps.running.count
  const authUrl = signin?.issuer ?? null
  const watch = openWatch(deps.running, pulse, () => draining)
  const codeMailFailure = () => signin?.codeMailFailure() ?? null
  const wakeMails = () => signin?.wakeMails()
  const { readings: hops, pace } = deps.health
  const { signup } = options.signin ?? {}
  const live = {
    inFlight,
    hops,
    paces: pace.readings,
    authUrl,
    signup,
    codeMailFailure,
    wakeMails,
    watch,
    clockJump: steadyClock.jump,
  }
  const operatorSocket = openOperatorSocket(options, listener.url, live)
  const courier = sendNotices(options, observer)
  const sweeper = sweep(options, steadyClock)

  let stopped: Promise<void> | null = null
  const hurried = Promise.withResolvers<void>()
  const stop = async (drainMs: number): Promise<void> => {
    draining = true
    await drain(deps.running, drainMs, hurried.promise, shuttingDown)
    await Promise.all([listener.close(), signin?.stop()])
    await operatorSocket?.close()
    await sweeper.stop()
    await courier?.stop()
    await observer.stop()
  }

  return {
    url: listener.url,
    authUrl,
    metricsUrl,
    live: () => ({ inFlight: inFlight() }),
    stop(drainMs) {
      if (stopped !== null && drainMs === 0) hurried.resolve()
      stopped ??= stop(drainMs)
      return stopped
    },
  }
}

const toObserved = ({
  clock,
  telemetry,
  log = null,
  version = '0',
  logFault = () => {},
}: GatewayOptions) => ({ clock, telemetry, log, version, logFault })

const toDeps = (
  { store, clock, settings, timings, log, upstreamFor, masterKey, version = '0' }: GatewayOptions,
  moment: Pick<ApiDeps, 'ended' | 'draining' | 'disableIdleTimeout' | 'restoreIdleTimeout'>,
): ApiDeps =>
  toApiDeps({
    store,
    clock,
    settings: settings ?? DEFAULT_SETTINGS,
    timings: timings ?? DEFAULT_TIMINGS,
    seals: openSeals(masterKey ?? null),
    upstreamFor: upstreamFor ?? createUpstreamCache(store.providers, clock),
    log: log ?? null,
    version,
    ...moment,
  })

const sweep = (options: GatewayOptions, clock: SteadyClock): Sweeper => {
  const { store, activityKeptMs = ACTIVITY_KEPT_MS, logFault } = options
  return startSweeper({
    store,
    clock,
    activityKeptMs,
    ...(logFault && { logFault }),
  })
}

function sendNotices(
  { store, clock, delivery, logFault }: GatewayOptions,
  { tried }: Observer,
): Courier | null {
  if (delivery === undefined) return null
  const webhooks = webhookPolicy(delivery.webhooks)
  return startCourier({
    store,
    clock,
    smtp: delivery.smtp,
    webhooks,
    tried,
    ...(logFault && { logFault }),
  })
}

async function openSignin(
  options: GatewayOptions,
  steadyClock: SteadyClock,
  { signedIn }: Observer,
): Promise<SigninListener | null> {
  const { signin, signinMissing, store, clock, delivery, logFault = () => {} } = options
  if (signin === undefined) return null
  const smtp = delivery?.smtp ?? null
  try {
    return await startSignin(signin, {
      store: store.signin,
      isWritable: async () => (await store.health({ checkIntegrity: false })).writable,
      clock,
      steadyClock,
      smtp,
      observed: signedIn,
      logFault,
    })
  } catch (cause) {
    // The gateway can serve without sign-in, e.g. if its port is in use or its keys are encrypted with another master key.
    const isTolerable = isRefused(cause) || cause instanceof GatewayError
    if (signinMissing === undefined || !isTolerable) throw cause
    signinMissing(cause)
    return null
  }
}

const isRefused = (cause: unknown): boolean =>
  ['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL'].includes(systemCodeOf(cause))

function openOperatorSocket(
  options: GatewayOptions,
  url: string,
  moment: Pick<
    LiveFacts,
    | 'inFlight'
    | 'hops'
    | 'paces'
    | 'authUrl'
    | 'signup'
    | 'codeMailFailure'
    | 'wakeMails'
    | 'watch'
    | 'clockJump'
  >,
) {
  const { adminSocket, store, clock, version = '0', dataDir = null, baseUrl, delivery } = options
  if (adminSocket === null) return null
  const deps = {
    store,
    clock,
    version,
    dataDir,
    delivery: {
      smtp: delivery != null && delivery.smtp !== null,
      tryMail: delivery?.smtp ? mailTrial(delivery.smtp, clock) : undefined,
      loopbackWebhooks: delivery?.webhooks.loopback ?? false,
    },
    live: {
      listen: url.slice('http://'.length),
      baseUrl: baseUrl ?? `${url}/v1`,
      pid: process.pid,
      startedAt: clock.now(),
      ...moment,
    },
    probe: createProbe(clock),
    demoKit: async (at: ReturnType<Clock['now']>) => ({
      provider: demoProvider(at),
      cards: demoCards(at),
    }),
  }
  const app = operatorApp(deps, options.logFault ?? (() => {}))
  return openAdminSocket(adminSocket, (request) => app.fetch(request))
}
