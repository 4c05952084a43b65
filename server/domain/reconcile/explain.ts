/**
 * Whether what somebody else counted can be what we counted: what is exact is the same on both sides, what ended on a later day may
 * be counted there, and what is in doubt may be anything up to its bound. Whole numbers: tokens, or atto-dollars.
 */

/** One of days that follow each other. */
export interface Counted {
  /** Null: nobody said. */
  readonly theirs: bigint | null
  readonly exact: bigint
  /** Of ours, what they may count on the next day. */
  readonly edge: bigint
  /** Of ours, what is an estimate; and what it may be at most, instead. */
  readonly doubted: bigint
  readonly most: bigint
}

export interface Explained {
  /** Counted here of the day before, and on the next day of this one. */
  readonly from: bigint
  readonly to: bigint
  /** What is in doubt, as it must have been counted. */
  readonly doubt: bigint
  /** Theirs beyond anything that it can be; negative where it is less than the least. */
  readonly unexplained: bigint
}

interface Range {
  readonly least: bigint
  readonly most: bigint
}

/** `carried`: of the day before the first, what may be counted there. The most is explained, with the least moved. */
export function explain(days: readonly Counted[], carried: bigint): readonly Explained[] {
  const { moved, unexplained } = rangesOf(days, carried)
  let to = nearestTo(0n, moved.at(-1) ?? { least: 0n, most: 0n })
  const explained: Explained[] = []
  for (let day = days.length - 1; day >= 0; day--) {
    const { theirs, exact, edge, doubted, most } = days[day] as Counted
    const before = moved[day] as Range
    const rest = unexplained[day] ?? 0n
    // Counted here of the day before and of what is in doubt, together.
    const open = theirs === null ? null : theirs - rest - exact - edge + to
    const from =
      open === null
        ? nearestTo(0n, before)
        : nearestTo(open - doubted, {
            least: larger(before.least, open - most),
            most: smaller(before.most, open),
          })
    const doubt = open === null ? doubted : open - from
    explained.push({ from, to, doubt, unexplained: rest })
    to = from
  }
  return explained.toReversed()
}

/** How much of each day may be counted on the next, the day before the first in front, so that all that follows can be true. */
function rangesOf(days: readonly Counted[], carried: bigint) {
  const moved: Range[] = [{ least: 0n, most: carried }]
  const unexplained: bigint[] = []
  for (const { theirs, exact, edge, most } of days) {
    const before = moved.at(-1) as Range
    if (theirs === null) {
      moved.push({ least: 0n, most: edge })
      unexplained.push(0n)
      continue
    }
    const base = exact + edge - theirs
    const [least, largest] = [base + before.least, base + most + before.most]
    if (least > edge) {
      moved.push({ least: edge, most: edge })
      unexplained.push(edge - least)
    } else if (largest < 0n) {
      moved.push({ least: 0n, most: 0n })
      unexplained.push(-largest)
    } else {
      moved.push({ least: larger(0n, least), most: smaller(edge, largest) })
      unexplained.push(0n)
    }
  }
  return { moved, unexplained }
}

export const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b)
export const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)

export const nearestTo = (value: bigint, { least, most }: Range): bigint =>
  larger(least, smaller(value, most))
