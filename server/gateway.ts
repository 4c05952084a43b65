/** Composes a running gateway: HTTP API, operator API on its socket, and sign-in on its own listener, over one store. */
import type { Cabinet, CabinetPlace } from '#cabinet/deps.ts'
import { ACTIVITY_KEPT_MS } from '#domain/activity.ts'
import { GatewayError } from '#domain/errors.ts'
import type { Owner } from '#domain/owner.ts'
import { Pulse } from '#domain/snapshot/pulse.ts'
import type { Watch } from '#domain/snapshot/watch.ts'
import { createSteadyClock, type SteadyClock } from '#domain/steady-clock.ts'
import { systemCodeOf } from '#domain/system-code.ts'
import type { RequestLog } from '#http/request-log.ts'
import { openSeals } from '#http/seals.ts'
import { type Courier, startCourier } from '#notify/courier.ts'
import type { SmtpServer } from '#notify/smtp-server.ts'
import { type WebhookPermissions, webhookPolicy } from '#notify/webhook-policy.ts'
import { operatorApp } from '#operator/app.ts'
import type { LiveFacts, OperatorDeps } from '#operator/deps.ts'
import { NO_BRAND } from '#pages/brand.ts'
import { nextTurn } from '#runtime/next-turn.ts'
import { demoCards, demoProvider } from '#upstream/demo/cards.ts'
import { createProbe } from '#upstream/probe.ts'
import { type AdminDoor, openAdminDoor } from './admin-socket.ts'
import { startLookout } from './lookout.ts'
import { type Observer, startObserver, type TelemetryOptions } from './observer.ts'
import {
  type DrainTimes,
  type Serve,
  type Serving,
  type ServingOptions,
  serveHere,
} from './serving.ts'
import { type SigninListener, type SigninOptions, startSignin } from './signin-listener.ts'
import { type Sweeper, startSweeper } from './sweeper.ts'
import { startTeller, type Teller } from './teller.ts'
import { mailTrial } from './trial-mail.ts'
import { watchNodes } from './watch-nodes.ts'

export interface GatewayOptions
  extends Pick<
    ServingOptions,
    'store' | 'clock' | 'settings' | 'timings' | 'listen' | 'masterKey' | 'upstreamFor'
  > {
  /** Serves the API: in this process by default. */
  readonly serve?: Serve
  /** The public URL including `/v1`, as shown to operators. */
  readonly baseUrl?: string
  /** Where the socket for operators is, or what listens there already; null opens none. */
  readonly adminSocket: string | AdminDoor | null
  readonly version?: string
  /** Shown to operators; null if everything is in memory. */
  readonly dataDir?: string | null
  /** How notices are delivered; without it they stay in the outbox. */
  readonly delivery?: { readonly smtp: SmtpServer | null; readonly webhooks: WebhookPermissions }
  /** The sign-in provider on its own listener; without it nobody signs in. */
  readonly signin?: SigninOptions
  /** Called if the sign-in provider cannot start; may throw, else the gateway starts without it. */
  readonly signinMissing?: (cause: unknown) => void
  /** How often it looks for trouble; every few seconds by default. */
  readonly lookEveryMs?: number
  /** How long the log keeps ended requests, null for ever; `ACTIVITY_KEPT_MS` by default. */
  readonly activityKeptMs?: number | null
  readonly log?: ServingOptions['log']
  /** Metrics and traces, if an operator enabled them. */
  readonly telemetry?: TelemetryOptions
  /** Logs an error outside any client request. */
  readonly logFault?: (cause: unknown, errorId?: string) => void
}

export interface Gateway {
  /** The listening address: `http://host:port`. */
  readonly url: string
  /** `{auth_url}`; null without the sign-in provider. */
  readonly authUrl: string | null
  /** Where that listens: `http://host:port`. */
  readonly authListen: string | null
  /** The URL of the metrics; null if they are disabled. */
  readonly metricsUrl: string | null
  /** Requests in progress here; of other processes, when one last looked. */
  live(): { readonly inFlight: number }
  look(): Promise<void>
  /**
   * Says that it is unready, for `unreadyMs`; then refuses new chat requests, waits at most `drainMs` for those in progress, fails the rest with `shutting_down`, and resolves
   * when all are settled and no notice is being sent. The caller closes the store. A second call with 0 ends the drain at once.
   */
  stop(drainMs: number, unreadyMs?: number): Promise<void>
  /**
   * The same for a gateway whose requests go on under another: nothing here uses the store any more. `openDoors`: people wait there
   * from then on.
   */
  leave(openDoors: () => Promise<void>): Promise<void>
}

/** Starts listening; the store must stay open until `stop` has resolved. */
export async function startGateway(given: GatewayOptions): Promise<Gateway> {
  const observer = await startObserver(toObserved(given))
  const options = { ...given, log: observer.log }
  const { store, clock, version = '0' } = options
  const pulse = new Pulse()
  const steadyClock = createSteadyClock(clock, await store.steadyTime.last())
  // First, because it takes longest: once the API listens, the operator's socket follows at once.
  const parts = Promise.withResolvers<CabinetParts>()
  const signin = await openSignin(options, steadyClock, observer, parts.promise)
  const { serve = serveHere } = options
  const { ending, before } = observer
  const listening = serve({ ...options, version, ended: ending(pulse.note), before })
  let metricsUrl: string | null
  try {
    metricsUrl = observer.open({ store, clock, version, serving: await listening })
  } catch (cause) {
    await listening.then((begun) => begun.close()).catch(() => {})
    await Promise.all([signin?.stop(), observer.stop()])
    throw cause
  }
  const serving = await listening
  const authUrl = signin?.issuer ?? null
  const watch = toWatch(options, serving, pulse)
  store.nodes?.heed((id) => void serving.kill(id))
  const { signup, passkeys, brand, cabinet = null } = options.signin ?? {}
  const cabinetUrl = authUrl === null || cabinet === null ? null : `${authUrl}/cabinet`
  const live = {
    hops: () => serving.hops(),
    credentials: () => serving.credentials(),
    paces: () => serving.paces(),
    stuckProcesses: () => serving.stuck(),
    authUrl,
    cabinetUrl,
    mailsCodes: signin?.mailsCodes ?? false,
    signup,
    passkeys,
    brand: brand && { name: brand.name, hasLogo: brand.logo !== null, shades: brand.shades },
    codeMailFailure: () => signin?.codeMailFailure() ?? null,
    wakeMails: () => signin?.wakeMails(),
    clockJump: steadyClock.jump,
  }
  const operator = { ...toOperatorDeps(options, serving.url, live), watch }
  parts.resolve({ operator, serving })
  const operatorSocket = openOperatorSocket(options, operator)
  const courier = sendNotices(options, observer)
  const teller = await startTeller(options.store.events, options.clock)
  const sweeper = sweep(options, steadyClock, teller)
  const lookout = startLookout({ ...options, serving, steadyClock, teller, pulse })

  let stopped: Promise<void> | null = null
  const hurried = Promise.withResolvers<void>()
  const stop = async (times: DrainTimes): Promise<void> => {
    await serving.drain(times, hurried.promise)
    await Promise.all([serving.close(), signin?.stop()])
    await operatorSocket?.close()
    await Promise.all([sweeper.stop(), lookout.stop()])
    await courier?.stop()
    await observer.stop()
  }
  const leave = async (openDoors: () => Promise<void>): Promise<void> => {
    await Promise.all([sweeper.stop(), lookout.stop(), courier?.stop()])
    await openDoors()
    // Behind a turn that has accepted what waited: what the kernel has queued is lost when a listener stops.
    await nextTurn()
    await Promise.all([signin?.stop(), observer.stop(), operatorSocket?.close()])
  }

  return {
    url: serving.url,
    authUrl,
    authListen: signin?.url ?? null,
    metricsUrl,
    live: () => ({ inFlight: serving.count() }),
    look: () => serving.look(),
    stop(drainMs, unreadyMs = 0) {
      if (stopped !== null && drainMs === 0) hurried.resolve()
      stopped ??= stop({ unreadyMs, drainMs })
      return stopped
    },
    leave,
  }
}

function toWatch({ store, clock }: GatewayOptions, serving: Serving, pulse: Pulse): Watch {
  const { nodes, keys, owner } = store
  if (nodes) return watchNodes({ nodes, keys, clock, here: { node: owner.node, serving } })
  return {
    pulse,
    look: () => serving.look(),
    inFlight: (most) => serving.inFlight(most),
    count: () => serving.count(),
    nodes: () => null,
    peak: () => serving.peak(),
    draining: () => serving.draining(),
    kill: (id) => serving.kill(id),
  }
}

const toObserved = ({
  store: { owner },
  clock,
  telemetry,
  log = null,
  version = '0',
  logFault = () => {},
}: GatewayOptions) => ({ clock, telemetry, log: log && withNode(log, owner), version, logFault })

const withNode = (log: RequestLog, { node }: Owner): RequestLog =>
  node === '' ? log : (line) => log({ ...line, node })

const sweep = (options: GatewayOptions, clock: SteadyClock, teller: Teller): Sweeper => {
  const { store, activityKeptMs = ACTIVITY_KEPT_MS, logFault = () => {} } = options
  return startSweeper({
    store,
    clock,
    activityKeptMs,
    logFault,
    swept(failure) {
      const told =
        failure === null
          ? teller.lift('gateway.sweep_failed', 'sweep')
          : teller.raise('gateway.sweep_failed', { reason: reasonOf(failure) })
      told.catch(logFault)
    },
  })
}

const reasonOf = (failure: unknown): string =>
  failure instanceof Error ? failure.message : String(failure)

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

const NO_WEBHOOKS = { loopback: false, private: false }

async function openSignin(
  options: GatewayOptions,
  steadyClock: SteadyClock,
  { signedIn }: Observer,
  parts: Promise<CabinetParts>,
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
      webhooks: delivery?.webhooks ?? NO_WEBHOOKS,
      openCabinet: cabinetOpener(options, parts),
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

/** What the cabinet waits for. */
interface CabinetParts {
  readonly operator: Omit<OperatorDeps, 'who'>
  readonly serving: Serving
}

/** Null where the cabinet is switched off. Its requests wait until the gateway listens. */
function cabinetOpener(
  { signin, clock, masterKey = null, logFault = () => {} }: GatewayOptions,
  parts: Promise<CabinetParts>,
) {
  const { cabinet = null, brand = NO_BRAND } = signin ?? {}
  if (cabinet === null) return null
  return async (place: CabinetPlace): Promise<Cabinet> => {
    const { createCabinet } = await import('#cabinet/app.ts')
    return createCabinet({
      ...place,
      ...cabinet,
      brand,
      clock,
      seals: openSeals(masterKey),
      operator: parts.then(({ operator }) => operator),
      askAsKey: async (...asked) => (await parts).serving.askAsKey(...asked),
      logFault,
    })
  }
}

const isRefused = (cause: unknown): boolean =>
  ['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL'].includes(systemCodeOf(cause))

const toOperatorDeps = (
  { store, clock, version = '0', dataDir = null, baseUrl, delivery }: GatewayOptions,
  url: string,
  moment: Omit<LiveFacts, 'listen' | 'baseUrl' | 'pid' | 'startedAt'>,
): Omit<OperatorDeps, 'who'> => ({
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
  demoKit: async (at) => ({ provider: demoProvider(at), cards: demoCards(at) }),
})

function openOperatorSocket(options: GatewayOptions, deps: Omit<OperatorDeps, 'who'>) {
  const { adminSocket } = options
  if (adminSocket === null) return null
  const app = operatorApp(deps, options.logFault ?? (() => {}))
  const door = typeof adminSocket === 'string' ? openAdminDoor(adminSocket) : adminSocket
  return door.open((request) => app.fetch(request))
}
