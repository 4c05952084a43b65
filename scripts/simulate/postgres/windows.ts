/** Windows as functions.sql counts them: on the time line of an account, and by the clock too while that is, or was, set. */
import { DAY_MS, MINUTE_MS } from '#domain/clock.ts'
import type { Limits } from '#domain/limits.ts'
import type { Window } from '#domain/window.ts'
import type { Line, Slot, Tables, TimeLine } from './tables.ts'

const STEP_MS = 5_000
const MOST_STEPS = 7

/** `place_of`: where an instant is on the line, which goes on across backward steps of the clock. */
export function placeOf(at: number, line: TimeLine): Pick<TimeLine, 'place' | 'setBack' | 'steps'> {
  let { setBack, steps } = line
  for (let step = steps.at(-1); step !== undefined; step = steps.at(-1)) {
    const short = line.place - (at + step)
    const ahead = at + setBack - line.place
    const isNearer = ahead > STEP_MS && short < ahead && (short < 300_000 || short < ahead / 4)
    if (short > STEP_MS && !isNearer) break
    setBack = step
    steps = steps.slice(0, -1)
  }
  if (at + setBack >= line.place - STEP_MS) return { place: at + setBack, setBack, steps }
  return {
    place: line.place,
    setBack: line.place - at,
    steps: [...steps, setBack].slice(-MOST_STEPS),
  }
}

export interface Moment {
  /** Of the claim. */
  readonly at: number
  readonly place: number
  readonly isStepped: boolean
}

/** How long each slot stays in a window, shortest first. */
function leaving(slots: readonly Slot[], spanMs: number, { at, place, isStepped }: Moment) {
  return slots
    .map((slot) => {
      const byPlace = slot.place + spanMs - place
      const isInClock = isStepped && slot.at > at - spanMs && slot.at < at + spanMs
      const ms = isInClock ? Math.max(byPlace, Math.min(slot.at, at) + spanMs - at) : byPlace
      return { slot, ms }
    })
    .filter(({ ms }) => ms > 0)
    .sort((one, other) => one.ms - other.ms)
}

export interface Counted {
  readonly used: number
  readonly oldestMs: number
}

export interface Windows {
  readonly minute: (Window & Counted) | null
  readonly day: (Window & Counted) | null
  readonly tokens: Window | null
}

/** Of a key or an account, as the domain's rule asks for them. */
export function windowsOf(
  tables: Tables,
  slots: readonly Slot[],
  limits: Limits,
  moment: Moment,
): Windows {
  const count = (spanMs: number): Window & Counted => {
    const found = leaving(slots, spanMs, moment)
    const used = found.length
    const window = {
      spanMs,
      used,
      oldestMs: found[0]?.ms ?? 0,
      count: () => used,
      msUntilSlot: (limit: number) => (used < limit ? 0 : (found[used - limit]?.ms ?? 0)),
    }
    return window as unknown as Window & Counted
  }
  return {
    minute: limits.rpm === null ? null : count(MINUTE_MS),
    day: limits.rpd === null ? null : count(DAY_MS),
    tokens: limits.tpm === null ? null : tokensOf(tables, leaving(slots, MINUTE_MS, moment)),
  }
}

const COUNTED = [
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'cache_write_1h_tokens',
  'image_input_tokens',
  'output_tokens',
  'image_output_tokens',
]
const tokensIn = (line: Line | undefined): number =>
  line === undefined ? 0 : COUNTED.reduce((all, column) => all + Number(line[column]), 0)

/** `token_window`. */
function tokensOf(tables: Tables, found: ReturnType<typeof leaving>): Window {
  const weights = found.map(({ slot, ms }) => {
    const hold = tables.holds.get(slot.generation)
    const isHeld = hold !== undefined && hold.endedAt === null
    const tokens = isHeld ? hold.tokens : tokensIn(tables.activity.get(slot.generation))
    return { isHeld, tokens, ms }
  })
  const sum = (held: boolean): number =>
    weights.reduce((all, one) => all + (one.isHeld === held ? one.tokens : 0), 0)
  const [spent, held] = [sum(false), sum(true)]
  const window = {
    spanMs: MINUTE_MS,
    spent,
    held,
    fits: (limit: number, wanted: number) =>
      spent < limit && (held === 0 || spent + held + wanted <= limit),
    msUntilBelow(limit: number): number {
      let [rest, waitMs] = [spent, 0]
      for (const { isHeld, tokens, ms } of weights) {
        if (rest < limit) break
        if (!isHeld) rest -= tokens
        waitMs = ms
      }
      return waitMs
    },
  }
  return window as unknown as Window
}
