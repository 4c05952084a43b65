/** Puts what an answer cost beside the provider's own counts, for a client that asks for it (`X-Gateway-Usage: 1`). */
import { readMembers } from '#domain/json-text.ts'
import type { Charge } from '#domain/ledger.ts'
import { renderRub, renderUsdNumber } from '#domain/money.ts'

/** The JSON text with `cost` and `cost_rub` in the object at `path`; as it is where there is none. Nothing else of it changes. */
export function insertCost(json: string, path: readonly string[], charge: Charge): string {
  const end = endOfObject(json, path)
  if (end === null) return json
  const cost = `"cost":${renderUsdNumber(charge.amount)},"cost_rub":${renderRub(charge.costRub)}`
  const isEmpty = json.slice(0, end).trimEnd().endsWith('{')
  return `${json.slice(0, end)}${isEmpty ? '' : ','}${cost}${json.slice(end)}`
}

/** Where the brace is that closes it. */
function endOfObject(json: string, path: readonly string[]): number | null {
  let from = 0
  let to = json.length
  for (const name of path) {
    const member = readMembers(json.slice(from, to)).findLast((one) => one.name === name)
    if (member === undefined || json[from + member.valueStart] !== '{') return null
    to = from + member.end
    from += member.valueStart
  }
  return to - 1
}

const DATA = /^data: ?(\{.*\})/m

/** The same in a frame of a stream, of which only the data changes; spread over several lines, it is left as it is. */
export const insertCostInFrame = (frame: string, path: readonly string[], charge: Charge): string =>
  frame.replace(DATA, (line, data: string) =>
    line.replace(data, () => insertCost(data, path, charge)),
  )
