/** The turn of a gateway at a data directory: begun by itself or taken over from another, and given to the next. */

import { readdirSync, readlinkSync, realpathSync } from 'node:fs'
import { lockFileOf } from '#db/sqlite/engine/lock.ts'
import type { AdminDoor } from '#server/admin-socket.ts'
import type { Crew, Heir, Legacy } from '#server/crew.ts'
import type { Gateway } from '#server/gateway.ts'
import { type Place, reserve } from '#server/listener.ts'
import type { TelemetryOptions } from '#server/observer.ts'
import type { Serve } from '#server/serving.ts'
import type { GatewayStore } from '#signin/store.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT, usageError } from '../exit.ts'
import type { ServeSettings } from '../settings/config.ts'
import { readMasterKey } from '../settings/master-key.ts'
import { readSharedStore } from '../settings/shared-store.ts'
import type { SigninSettings } from '../settings/signin-settings.ts'
import { DEFAULT_METRICS_LISTEN } from '../settings/telemetry-settings.ts'
import { printNote } from '../terminal/output.ts'
import { notListening } from './not-listening.ts'
import { startCrew } from './processes.ts'
import type { ServeLog } from './request-log.ts'
import { listenForSignals, type Stopping } from './signals.ts'

/** All null for one that begins by itself. */
export interface Turn {
  /** What the gateway before has left. */
  readonly legacy: Legacy | null
  /** Where that served the API, if this one is to. */
  readonly api: string | null
  /** Started while the gateway before still served. */
  readonly crew: Crew | null
  /** Where its processes find the store. */
  readonly unix: string | null
  /** What listens already. */
  readonly adminDoor: AdminDoor | null
  readonly auth: Place | null
  readonly metrics: Place | null
  /** What this process was told before this turn. */
  readonly stopping: Stopping | null
  /** Hears that all of it serves. */
  serves(): void
}

const NO_DOORS = { adminDoor: null, auth: null, metrics: null }

export const FIRST: Turn = {
  ...NO_DOORS,
  stopping: null,
  legacy: null,
  api: null,
  crew: null,
  unix: null,
  serves() {},
}

interface Wanted extends ServeSettings {
  readonly signin: SigninSettings | null
  readonly telemetry: TelemetryOptions
}

/** Everything that can fail is done before the gateway that serves gives anything up. @throws CommandError */
export async function takeOver(
  context: Context,
  wanted: Wanted,
  { isDemo }: { readonly isDemo: boolean },
  logFault: (cause: unknown) => void,
): Promise<Turn> {
  if (isDemo) throw usageError('a demo keeps nothing that could be taken over')
  if (wanted.processes === 1) {
    throw usageError(
      '--takeover needs processes that go on while the store changes hands',
      'gatewayctl serve --takeover --processes auto',
    )
  }
  if (readSharedStore(context) !== null) throw ofNodes()
  const { findPredecessor, samePlace, takePlace } = await import('./take-over.ts')
  const masterKey = readMasterKey(context, { create: false })
  const { facts, unix, handOver, serves } = await findPredecessor(context, masterKey)
  const { urls } = facts
  const api = samePlace(wanted, urls.api) === null ? null : urls.api
  if (api === null) requireFree(wanted, '--listen 127.0.0.1:4150')
  const { signin, telemetry } = wanted
  if (signin?.isStated && samePlace(placeOf(signin), urls.auth) === null)
    requireFree(signin, '--auth-listen 127.0.0.1:4151')
  const metrics = telemetry.metrics?.listen ?? null
  if (metrics !== null && samePlace(metrics, urls.metrics) === null)
    requireFree(metrics, `--metrics-listen ${DEFAULT_METRICS_LISTEN}`)
  const { openAdminDoor } = await import('#server/admin-socket.ts')
  const { adminSocket } = context
  const crew = await startCrew(wanted.processes, adminSocket, unix, logFault)
  let doors: Pick<Turn, 'adminDoor' | 'auth' | 'metrics'> = NO_DOORS
  // From the line on a signal does not end it: it is to serve first, and then to drain.
  const stopping = listenForSignals()
  printNote(context, `taking over from process ${facts.pid} (v${facts.version})`)
  const legacy = await handOver(() => {
    doors = {
      adminDoor: openAdminDoor(adminSocket, `${adminSocket}.new`),
      auth: signin && takePlace(placeOf(signin), urls.auth),
      metrics: metrics && takePlace(metrics, urls.metrics),
    }
  })
  if (legacy === null) printNote(context, '! it ended before: what it had in progress is lost')
  return { legacy, api, crew, unix, ...doors, stopping, serves }
}

const placeOf = ({ hostname, port }: Place): Place => ({ hostname, port })

/** @throws CommandError */
function requireFree(place: Place, otherwise: string): void {
  try {
    reserve(placeOf(place))
  } catch (cause) {
    throw notListening(cause, place, `gatewayctl serve --takeover ${otherwise}`)
  }
}

const ofNodes = (): CommandError =>
  new CommandError(
    'not_taken_over',
    EXIT.failed,
    'nodes of one PostgreSQL are replaced one after the other: the others go on meanwhile',
    'stop one by SIGTERM, start its new version, then the next',
  )

/** The next gateway is to listen there before this one has left. A stranger is refused all the same. */
export function sharedPlace(place: Place, isMany: boolean): Place {
  if (!isMany) return place
  try {
    if (place.port !== 0) reserve(place)
    return { ...place, isShared: true }
  } catch {
    // It fails again, where that is explained.
    return place
  }
}

export async function serveByCrew(
  crew: Crew,
  count: number,
  { traces, metrics }: TelemetryOptions,
  { legacy, api }: Turn,
  log: ServeLog,
): Promise<Serve> {
  const { serveByProcesses } = await import('#server/processes.ts')
  const owners = legacy?.owners ?? []
  return serveByProcesses({
    crew,
    count,
    traces,
    // Metrics count them.
    writeLines: metrics === null ? log.writeLines : null,
    before: { url: api, owners },
    logFault: log.fault,
  })
}

/** Tells systemd, then the gateway before, which ends, and its processes, which come. */
export async function tellOfTurn(context: Context, turn: Turn, crew: Crew | null): Promise<void> {
  const path = context.env['NOTIFY_SOCKET']
  if (path) {
    const { tellSupervisor } = await import('./tell-supervisor.ts')
    try {
      tellSupervisor(path)
    } catch (cause) {
      printNote(context, `! systemd is not told: ${cause instanceof Error ? cause.message : cause}`)
    }
  }
  turn.serves()
  crew?.welcome()
}

/** From now on another process may take over. */
export function admitHeirs(
  crew: Crew,
  context: Context,
  store: GatewayStore,
  masterKey: Uint8Array | null,
  { url, authListen, metricsUrl }: Gateway,
): void {
  crew.facts = async () => {
    const { GatewayError } = await import('#domain/errors.ts')
    const refused = (message: string, hint: string) =>
      new GatewayError('store_unavailable', message, { hint })
    if (process.pid === 1)
      throw refused(
        'the gateway that serves is the first process of its container, which would end with it',
        'replace the container',
      )
    const { trouble } = await store.health({ checkIntegrity: false })
    if (trouble !== null) throw refused('the disk takes no writes', 'gatewayctl doctor')
    const { tellFacts } = await import('./take-over.ts')
    const metrics = metricsUrl === null ? null : new URL(metricsUrl).origin
    return tellFacts(context, masterKey, { api: url, auth: authListen, metrics })
  }
}

/** Gives everything to another; null once that serves, or the turn that follows where it does not. */
export async function handOver(
  context: Context,
  heir: Heir,
  { gateway, crew, store }: { gateway: Gateway; crew: Crew | null; store: GatewayStore },
  stopping: Stopping,
): Promise<Turn | null> {
  printNote(context, 'another process takes over')
  await gateway.leave(heir.openDoors)
  const owners = (await crew?.leave(heir.unix)) ?? []
  const epochs = new Set(owners.map(({ epoch }) => epoch))
  const held = (await store.handOver?.()) ?? []
  const legacy = { owners, held: held.filter(({ claim }) => epochs.has(claim.owner.epoch)) }
  const lock = lockFileOf(context.dataDir)
  if (await heir.give(legacy)) {
    // What is told to stop is all that serves here: under systemd, what is left when this process ends would be killed.
    void stopping.asked.then(() => {
      printNote(context, `told to stop: process ${heir.pid} stops in its stead`)
      signal('SIGTERM', heir.pid, lock)
    })
    return null
  }
  printNote(context, '! it does not serve: this one goes on')
  // One that hangs keeps the data directory from everybody else.
  signal('SIGKILL', heir.pid, lock)
  const { url, authListen, metricsUrl } = gateway
  return {
    ...FIRST,
    stopping,
    legacy,
    api: url,
    unix: crew?.unix ?? null,
    // Where it hangs, it listens there still.
    auth: authListen === null ? null : againAt(authListen),
    metrics: metricsUrl === null ? null : againAt(metricsUrl),
  }
}

/** Only where it has the data directory. */
function signal(name: NodeJS.Signals, pid: number, lock: string): void {
  try {
    if (hasOpen(pid, lock)) process.kill(pid, name)
  } catch {
    // It has ended by itself.
  }
}

/** Only Linux tells. */
function hasOpen(pid: number, path: string): boolean {
  const directory = `/proc/${pid}/fd`
  const isThat = (name: string): boolean => {
    try {
      return readlinkSync(`${directory}/${name}`) === realpathSync(path)
    } catch {
      return false
    }
  }
  try {
    return readdirSync(directory).some(isThat)
  } catch {
    return false
  }
}

function againAt(url: string): Place {
  const { hostname, port } = new URL(url)
  return { hostname: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80), isShared: true }
}
