/** The connections that rest between two requests, by origin: the latest to rest is the first to serve again. */
import { dropLine, type Line } from './line.ts'

const MOST_PER_ORIGIN = 1_024
const SWEEP_MS = 1_000

const resting = new Map<string, Line[]>()
let sweeper: ReturnType<typeof setInterval> | null = null

/** A connection that has rested no longer than it may, or undefined. It is the taker's until it rests again. */
export function takeResting(origin: string): Line | undefined {
  const lines = resting.get(origin)
  if (lines === undefined) return undefined
  const nowMs = performance.now()
  for (;;) {
    const line = lines.pop()
    if (line === undefined || line.restsUntilMs > nowMs) {
      line?.socket?.ref()
      return line
    }
    dropLine(line)
  }
}

/** Lets a connection rest; it keeps no process alive. One too many is hung up. */
export function rest(line: Line, restMs: number): void {
  const { origin } = line.target
  let lines = resting.get(origin)
  if (lines === undefined) {
    lines = []
    resting.set(origin, lines)
  }
  if (lines.length >= MOST_PER_ORIGIN) {
    dropLine(line)
    return
  }
  line.restsUntilMs = performance.now() + restMs
  line.socket?.unref()
  lines.push(line)
  sweeper ??= setInterval(sweep, SWEEP_MS).unref()
}

/** Takes out a connection that the other side has closed. */
export function forgetResting(line: Line): void {
  const lines = resting.get(line.target.origin)
  const place = lines?.lastIndexOf(line) ?? -1
  if (place >= 0) lines?.splice(place, 1)
}

/** How many rest. */
export const countResting = (origin: string): number => resting.get(origin)?.length ?? 0

function sweep(): void {
  const nowMs = performance.now()
  for (const [origin, lines] of resting) {
    const fresh = lines.filter((line) => line.restsUntilMs > nowMs)
    for (const line of lines) if (line.restsUntilMs <= nowMs) dropLine(line)
    if (fresh.length === 0) resting.delete(origin)
    else resting.set(origin, fresh)
  }
  if (resting.size > 0 || sweeper === null) return
  clearInterval(sweeper)
  sweeper = null
}
