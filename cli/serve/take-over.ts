/** `serve --takeover`: asks the gateway that serves this data directory for its place. */
import { existsSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { FRONT_VERSION } from '#db/front/lease.ts'
import { Link, linkSocket } from '#db/front/link.ts'
import { NEWEST_SCHEMA_VERSION } from '#db/sqlite/engine/schema-version.ts'
import { GatewayError, toldOf } from '#domain/errors.ts'
import { within } from '#domain/within.ts'
import { type HeirVerbs, type Legacy, OPEN_DOORS } from '#server/crew.ts'
import { openDoor, type Place } from '#server/listener.ts'
import type { Context } from '../context.ts'
import { CommandError, EXIT } from '../exit.ts'
import { callRunning } from '../gateway/operator.ts'
import { noGateway } from '../gateway/operator-lines.ts'
import { VERSION } from '../version.ts'
import { storePlaces } from './processes.ts'

/** Where a gateway listens: `http://host:port`. */
export interface Urls {
  readonly api: string
  readonly auth: string | null
  readonly metrics: string | null
}

/** What a gateway tells one that is to take over from it. */
export interface Facts {
  readonly pid: number
  /** Of its user; undefined where it is of a release that does not tell. */
  readonly uid?: number | undefined
  readonly version: string
  readonly front: number
  readonly schema: number
  readonly dataDir: string
  /** A digest of its master key; null without one. */
  readonly keyDigest: string | null
  readonly urls: Urls
}

/** What a gateway that can be taken over from tells of itself. */
export const tellFacts = (
  { dataDir }: Context,
  masterKey: Uint8Array | null,
  urls: Urls,
): Facts => ({
  pid: process.pid,
  uid: process.getuid?.(),
  version: VERSION,
  front: FRONT_VERSION,
  schema: NEWEST_SCHEMA_VERSION,
  dataDir: existsSync(dataDir) ? realpathSync(dataDir) : resolve(dataDir),
  keyDigest: masterKey && Bun.SHA256.hash(masterKey, 'hex'),
  urls,
})

export interface Predecessor {
  readonly facts: Facts
  /** Where its processes are to find the store from now on. */
  readonly unix: string
  /** It gives up the store, with what is held, once `openDoors` has listened in its stead; null where it died before. */
  handOver(openDoors: () => void): Promise<Legacy | null>
  /** Tells it that its place is taken: it ends. */
  serves(): void
}

/** Asks for what can be known before it gives anything up. @throws CommandError where this process cannot take over */
export async function findPredecessor(
  context: Context,
  masterKey: Uint8Array | null,
): Promise<Predecessor> {
  const [one, other] = storePlaces(context.adminSocket)
  for (const [theirs, unix] of [
    [one, other],
    [other, one],
  ] as const) {
    const asked: Asked = { openDoors: () => {} }
    const link = await connect(theirs, asked)
    if (link === null) continue
    const facts = await readFacts(link)
    await check(facts, tellFacts(context, masterKey, facts.urls))
    return toPredecessor(link, asked, facts, unix)
  }
  const none = noGateway(context, 'gatewayctl serve --processes 2')
  await callRunning({ ...context, quiet: true }, 'status', {}, none)
  throw refused(
    'the gateway that serves this directory is one process, which ends its streams when it stops',
    'restart it with --processes 2 or more: the next one can take over then',
  )
}

/** What the gateway before asks. */
interface Asked {
  openDoors(): void
}

/** Null where nobody listens. */
async function connect(unix: string, asked: Asked): Promise<Link | null> {
  const link = new Link({
    answer: (method) => (method === OPEN_DOORS ? asked.openDoors() : undefined),
    closed: () => {},
  })
  try {
    await Bun.connect({ unix, socket: linkSocket(link) })
    return link
  } catch {
    return null
  }
}

async function readFacts(link: Link): Promise<Facts> {
  const facts = ask(link, 'facts') as Promise<Facts>
  try {
    if (await within(facts, FACTS_MS)) return await facts
  } catch (cause) {
    const isTold = cause instanceof GatewayError && cause.code !== 'internal_error'
    throw isTold
      ? refused(toldOf(cause), cause.details.hint ?? null)
      : refused('the gateway that serves is of a release that hands nothing over', RESTART)
  }
  throw refused(
    `the gateway that serves does not answer (waited ${FACTS_MS / 1_000} s)`,
    'its log tells why; gatewayctl status',
  )
}

/** What would fail, or last, after the gateway before has given up its place. */
async function check(theirs: Facts, own: Facts): Promise<void> {
  if (theirs.front !== own.front) {
    throw refused(
      `processes of v${theirs.version}, which serves, cannot go on under v${own.version} (front ${theirs.front}, and ${own.front})`,
      RESTART,
    )
  }
  if (theirs.schema > own.schema) {
    throw refused(
      `v${theirs.version}, which serves, has schema ${theirs.schema}, and v${own.version} knows ${own.schema}`,
      'gatewayctl backup --restore, as docs/install.md says of going back',
    )
  }
  if (theirs.uid !== undefined && theirs.uid !== own.uid) {
    throw refused(
      `the gateway that serves runs as user ${theirs.uid}, and this one would as ${own.uid}`,
      `sudo -u '#${theirs.uid}' gatewayctl serve --takeover`,
    )
  }
  if (theirs.dataDir !== own.dataDir)
    throw refused(`the gateway on this socket serves ${theirs.dataDir}`, '--data-dir')
  if (theirs.keyDigest !== own.keyDigest)
    throw refused('the gateway that serves has another master key', 'gatewayctl doctor')
  if (theirs.schema === own.schema) return
  const { tryUpgrade } = await import('#db/sqlite/files/try-upgrade.ts')
  const tookMs = tryUpgrade(own.dataDir)
  if (tookMs <= MAX_UPGRADE_MS) return
  throw refused(
    `to bring the database from schema ${theirs.schema} to ${own.schema} takes ${(tookMs / 1_000).toFixed(1)} s, and requests would wait for more than ${MAX_UPGRADE_MS / 1_000} s`,
    RESTART,
  )
}

/** How long a gateway may take to tell of itself. */
const FACTS_MS = 4_000

/** Requests wait while it is done. */
const MAX_UPGRADE_MS = 3_000

const RESTART = 'stop it, and start this one: streams have until --drain to end'

const refused = (message: string, hint: string | null): CommandError =>
  new CommandError('not_taken_over', EXIT.failed, message, hint)

function toPredecessor(link: Link, asked: Asked, facts: Facts, unix: string): Predecessor {
  return {
    facts,
    unix,
    async handOver(openDoors) {
      asked.openDoors = openDoors
      try {
        return (await ask(link, 'handOver', unix, process.pid)) as Legacy
      } catch (cause) {
        if (!(cause instanceof GatewayError)) throw cause
        const { details } = cause
        // Where it goes on all the same, it has the lock of the directory.
        if (details.hint === undefined) return null
        throw refused(toldOf(cause), details.hint)
      }
    },
    serves: () => link.tell('whole' satisfies keyof HeirVerbs, []),
  }
}

const ask = <Verb extends keyof HeirVerbs>(
  link: Link,
  verb: Verb,
  ...args: Parameters<HeirVerbs[Verb]>
): Promise<unknown> => link.call(verb, args)

/** The place, if the gateway before listens there: what comes before this one is ready waits at the door. */
export function takePlace<Wanted extends Place>(wanted: Wanted, url: string | null): Wanted {
  const place = samePlace(wanted, url)
  if (place === null) return wanted
  try {
    return { ...place, door: openDoor(place) }
  } catch {
    return wanted
  }
}

/** Null where the gateway before listens elsewhere. With port 0 it is where that listens. */
export function samePlace<Wanted extends Place>(wanted: Wanted, url: string | null): Wanted | null {
  if (url === null) return null
  const { hostname, port } = wanted
  const host = hostname.includes(':') ? `[${hostname}]` : hostname
  const theirs = new URL(url)
  const taken = Number(theirs.port || 80)
  if (theirs.hostname !== host || (port !== 0 && port !== taken)) return null
  return { ...wanted, port: taken, isShared: true }
}
