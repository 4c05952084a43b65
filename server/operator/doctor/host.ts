/** Checks the environment: the program, its public addresses, the disk and the clock. */
import { stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { HOUR_MS } from '#domain/clock.ts'
import { isLoopbackHost } from '#domain/loopback.ts'
import type { ClockJump } from '#domain/steady-clock.ts'
import type { OperatorDeps } from '../deps.ts'
import { type Finding, ok, problem, warning } from './finding.ts'

/** The version, and whether a gateway is running. */
export async function checkProgram({
  version,
  live,
  watch,
}: OperatorDeps): Promise<readonly Finding[]> {
  const what = `gatewayctl v${version} ${process.platform}-${process.arch}`
  const alive = (watch?.nodes() ?? []).filter(({ state }) => state === 'alive').length
  const others = alive === 0 ? 'no gateway running' : `serving at other machines: ${alive}`
  return [ok('program', `${what}, ${live === null ? others : `pid ${live.pid}`}`)]
}

/** Plain http is acceptable only on loopback. */
export async function checkAddresses({ live }: OperatorDeps): Promise<readonly Finding[]> {
  if (live === null) return []
  const { baseUrl, authUrl } = live
  const findings = [
    ...(isClear(baseUrl) ? [inTheClear('base_url', baseUrl, 'keys travel in clear text')] : []),
    ...(authUrl !== null && isClear(authUrl)
      ? [inTheClear('auth_url', authUrl, 'codes and sessions travel in clear text')]
      : []),
  ]
  return findings.length > 0 ? findings : [ok('address', `applications use ${baseUrl}`)]
}

function isClear(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'http:' && !isLoopbackHost(url.hostname)
}

const inTheClear = (setting: string, url: string, what: string): Finding =>
  warning(
    'address',
    `${setting} is ${url}, http:// on a public address: ${what}`,
    'put a TLS proxy in front and set its URL: gatewayctl help environment',
  )

const MEGABYTE = 1_000_000
/** A warning needs both: little by share (small disks) and little by size (large disks). */
const LOW_SPACE = { share: 0.1, bytes: 5_000 * MEGABYTE }
/** The database's log (WAL) may grow by this much during a long read; below it the disk may fill up at any moment. */
const MIN_BYTES = 256 * MEGABYTE
/** The WAL is checkpointed every few megabytes, unless a long read prevents it. */
const MAX_LOG_BYTES = 64 * MEGABYTE

/** Whether there is free space, and whether the WAL is checkpointed. */
export async function checkDisk({ dataDir }: OperatorDeps): Promise<readonly Finding[]> {
  if (dataDir === null) return []
  const { bytes, share } = await readFreeSpace(dataDir)
  const log = await stat(join(dataDir, 'gateway.db-wal')).catch(() => null)
  return [
    judgeFreeSpace(dataDir, bytes, share),
    ...(log !== null && log.size > MAX_LOG_BYTES
      ? [
          warning(
            'log-size',
            `the log of the database has grown to ${inMegabytes(log.size)}`,
            'is a backup or another reader running? ls -l gateway.db-wal',
          ),
        ]
      : []),
  ]
}

/** What is free where the data lies; `share` is its fraction of the disk. */
export async function readFreeSpace(dataDir: string): Promise<{ bytes: number; share: number }> {
  const { bavail, blocks, bsize } = await statfs(dataDir)
  return { bytes: bavail * bsize, share: bavail / blocks }
}

/** `full`: it may fill up at any moment. */
export function spaceLevel(bytes: number, share: number): 'ample' | 'low' | 'full' {
  if (bytes < MIN_BYTES) return 'full'
  return share >= LOW_SPACE.share || bytes >= LOW_SPACE.bytes ? 'ample' : 'low'
}

export function judgeFreeSpace(dataDir: string, bytes: number, share: number): Finding {
  const message = `${inMegabytes(bytes)} free (${Math.floor(share * 100)}%) where the data lies`
  const level = spaceLevel(bytes, share)
  if (level === 'ample') return ok('disk', message)
  const next = `make room, then df -h ${dataDir}`
  return level === 'full'
    ? problem('disk', `${message}: less than ${inMegabytes(MIN_BYTES)}`, next)
    : warning(
        'disk',
        `${message}: less than a tenth, and than ${inMegabytes(LOW_SPACE.bytes)}`,
        next,
      )
}

const inMegabytes = (bytes: number): string =>
  bytes >= 10_000 * MEGABYTE
    ? `${Math.floor(bytes / (1_000 * MEGABYTE))} GB`
    : `${Math.floor(bytes / MEGABYTE)} MB`

/** Rate windows, ceilings and signatures depend on the clock. */
const MAX_SKEW_MS = 5_000

/** Uses the skew of the last `providers test`; the doctor itself makes no network requests. */
export async function checkClock({ probe, live }: OperatorDeps): Promise<readonly Finding[]> {
  return [...judgeJump(live?.clockJump() ?? null), ...judgeSkew(probe.lastSkew())]
}

function judgeJump(jump: ClockJump | null): readonly Finding[] {
  if (jump === null || jump.aheadMs === 0) return []
  const message = `the clock jumped ahead by ${inHours(jump.aheadMs)}; if it stays, data is deleted for its age by it in ${inHours(jump.restMs)}`
  return [warning('clock', message, 'date -u')]
}

const inHours = (ms: number): string => `${(ms / HOUR_MS).toFixed(1)} h`

function judgeSkew(last: ReturnType<OperatorDeps['probe']['lastSkew']>): readonly Finding[] {
  if (last === null) return []
  const { provider, skewMs } = last
  const by = `${(Math.abs(skewMs) / 1_000).toFixed(1)} s`
  if (Math.abs(skewMs) <= MAX_SKEW_MS) {
    return [ok('clock', `clock within ${by} of what ${provider} says`)]
  }
  const message = `the clock is ${by} ${skewMs > 0 ? 'behind' : 'ahead of'} what ${provider} says`
  return [warning('clock', message, 'timedatectl set-ntp true')]
}
