/** The statements of the engine that the model knows, by their words: what each reads, and what it writes. */

import { LINE_ARRAYS } from '#db/postgres/admission/settle.ts'
import { NEWEST_VERSION, SERVES_FROM } from '#db/postgres/engine/versions.ts'
import { ACTIVITY_COLUMNS } from '#db/rows/activity-row.ts'
import { fromKey } from '#db/rows/key-row.ts'
import { fromLimits } from '#db/rows/limits-column.ts'
import type { ApiKey } from '#domain/key.ts'
import type { OfferCost } from '#domain/offer-cost.ts'
import {
  type AskedClaim,
  type AskedSettlement,
  admit,
  endEpochs,
  endSilent,
  findKept,
  giveUp,
  type Row,
  settle,
} from './functions.ts'
import type { Line, Tables } from './tables.ts'

export interface Asked {
  readonly text: string
  readonly values: readonly unknown[]
}

/** What a statement does: what it writes may be written again, after a crash. */
export interface Deed {
  readonly rows?: readonly Row[]
  readonly write?: (tables: Tables) => readonly Row[] | undefined
}

export interface Moment {
  readonly tables: Tables
  /** By the clock of the database. */
  readonly now: number
  /** Rows of the tables that nobody changes, by the statement that reads them. */
  readonly fixed: ReadonlyMap<string, readonly Row[]>
  nextId(): number
}

type Does = (moment: Moment, values: readonly unknown[], found: readonly string[]) => Deed

const NOTHING: Deed = {}

const text = (value: unknown): string => String(value)
const number = (value: unknown): number => Number(value)
const orNull = <T>(value: unknown, read: (value: unknown) => T): T | null =>
  value === null || value === undefined ? null : read(value)

/** The text of an array: `{1,NULL,"a b"}`. */
function readArray(value: unknown): readonly (string | null)[] {
  const inside = text(value).slice(1, -1)
  if (inside === '') return []
  return [...inside.matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/g)].map(([, quoted, bare]) =>
    quoted === undefined
      ? bare === 'NULL'
        ? null
        : (bare ?? null)
      : quoted.replace(/\\(.)/g, '$1'),
  )
}
const texts = (value: unknown): readonly string[] => readArray(value).map((one) => one ?? '')

const SILENT_MS = 10_000
const MISSED_MS = 3_000

const DOES: readonly (readonly [words: RegExp, does: Does])[] = [
  [/pg_is_in_recovery/, () => ({ rows: [{ isStandby: false, isReadOnly: false }] })],
  [/to_regclass\(/, () => ({ rows: [{ name: 'schema_version', hasFunctions: true }] })],
  [
    /FROM schema_version s$/,
    () => ({ rows: [{ version: NEWEST_VERSION, servesFrom: SERVES_FROM }] }),
  ],
  [/FROM moved$/, () => ({ rows: [] })],
  [/^SELECT \(extract\(epoch FROM clock_timestamp\(\)\)/, ({ now }) => ({ rows: [{ at: now }] })],
  [/\badmit\(/, (_, values) => ({ write: admitted(values) })],
  [/\bsettle\(/, (_, values) => ({ write: settled(values) })],
  [
    /\bgive_up\(/,
    (_, [ids, at]) => ({
      write: (tables) => void giveUp(tables, texts(ids), number(at)),
    }),
  ],
  [
    /^WITH gone AS \(DELETE FROM nodes/,
    (_, [name, epoch]) => ({
      write: (tables) => {
        const isGone = tables.nodes.get(text(name))?.epoch === epoch
        if (isGone) tables.nodes.delete(text(name))
        endEpochs(tables, [text(epoch)], isGone ? [text(name)] : [], 'void')
        return undefined
      },
    }),
  ],
  [
    /\bend_epochs\(/,
    (_, [epochs, nodes, , how]) => ({
      write: (tables) => void endEpochs(tables, texts(epochs), texts(nodes), how as never),
    }),
  ],
  [
    /\bend_silent\(/,
    ({ now }, [epoch]) => ({
      write: (tables) => endSilent(tables, text(epoch), now, SILENT_MS),
    }),
  ],
  [/^SELECT epoch, beat_at::text FROM nodes/, readNode],
  [
    /^SELECT epoch FROM nodes WHERE name/,
    ({ tables }, [name]) => {
      const node = tables.nodes.get(text(name))
      return { rows: node ? [{ epoch: node.epoch }] : [] }
    },
  ],
  [
    /^INSERT INTO nodes/,
    ({ now }, [name, epoch]) => ({
      write: (tables) => {
        const node = { epoch: text(epoch), beatAt: now, beatingSince: now }
        tables.nodes.set(text(name), node)
        return [{}]
      },
    }),
  ],
  [
    /^UPDATE nodes SET epoch/,
    ({ now }, [next, name, epoch]) => ({
      write: (tables) => {
        if (![epoch, next].includes(tables.nodes.get(text(name))?.epoch)) return []
        tables.nodes.set(text(name), { epoch: text(next), beatAt: now, beatingSince: now })
        return [{}]
      },
    }),
  ],
  [/^UPDATE nodes SET beat_at/, beat],
  [
    /FROM ended_epochs WHERE epoch/,
    ({ tables }, [epoch]) => ({ rows: tables.endedEpochs.has(text(epoch)) ? [{}] : [] }),
  ],
  [
    /^DELETE FROM given_up/,
    (_, [before]) => ({
      write: (tables) => {
        for (const [id, at] of tables.givenUp) if (at < number(before)) tables.givenUp.delete(id)
        return []
      },
    }),
  ],
  [/^SELECT name, sealed FROM credentials/, () => ({ rows: [] })],
  // Its log has no parts.
  [/\bmake_days\(/, () => NOTHING],
  // Changes at somebody's word are few here: no two wait for each other.
  [/^SELECT pg_advisory_xact_lock/, () => NOTHING],
  [/^INSERT INTO acts/, () => NOTHING],
  [/^UPDATE outbox/, () => NOTHING],
  [/FROM passed_marks/, () => ({ rows: [] })],
  [
    /^SELECT version FROM catalogue_version$/,
    ({ tables }) => ({ rows: [{ version: tables.catalogueVersion }] }),
  ],
  [/FROM key_secrets s JOIN/, findKeys],
  [/^SELECT keys\.id, .* WHERE keys\.id = \$1$/, findKey],
  [/\busage_of\(/, ({ tables }, [ids]) => ({ rows: usageOf(tables, texts(ids)) })],
  [
    /^INSERT INTO activity/,
    (_, values) => ({
      write: (tables) => {
        for (const line of linesOf(values)) {
          const id = text(line['generation_id'])
          if (!tables.activity.has(id)) tables.activity.set(id, line)
        }
        return []
      },
    }),
  ],
  [
    /^select (.+) from "activity" where "activity"."generation_id" = \$1$/,
    ({ tables }, [id], [, columns = '']) => {
      const line = tables.activity.get(text(id))
      if (line === undefined) return { rows: [] }
      const names = columns.split(', ').map((name) => name.slice(1, -1))
      return { rows: [Object.fromEntries(names.map((name) => [name, line[name] ?? null]))] }
    },
  ],
  [/FROM answers a JOIN answer_pieces p/, findAnswer],
  [
    /^SELECT body_sha256 FROM holds/,
    ({ tables }, [key, name]) => {
      const holds = [...tables.holds.values()]
      const found = holds.find((hold) => hold.key === key && hold.repeat === name)
      return { rows: found ? [{ body_sha256: found.digest }] : [] }
    },
  ],
  [/sum\(bytes\)/, () => ({ rows: [{ bytes: 0 }] })],
  [/^INSERT INTO answers/, stageAnswer],
  [
    /^INSERT INTO answer_pieces/,
    (_, [id, place, body]) => ({
      write: (tables) =>
        void tables.answers.get(number(id))?.pieces.set(number(place), body as Buffer),
    }),
  ],
  [
    /^SELECT body FROM answer_pieces/,
    ({ tables }, [id, place]) => {
      const body = tables.answers.get(number(id))?.pieces.get(number(place))
      return { rows: body ? [{ body }] : [] }
    },
  ],
]

/** @throws for a statement that it does not know: what the engine asks has changed, and the model has to follow. */
export function understand(moment: Moment, { text: words, values }: Asked): Deed {
  const said = words.replace(/\s+/g, ' ').trim()
  const rows = moment.fixed.get(said)
  if (rows !== undefined) return { rows }
  for (const [pattern, does] of DOES) {
    const found = pattern.exec(said)
    if (found !== null) return does(moment, values, found)
  }
  throw new Error(`the model of PostgreSQL (scripts/simulate/postgres) does not know: ${said}`)
}

function readNode({ tables, now }: Moment, [name]: readonly unknown[]): Deed {
  const node = tables.nodes.get(text(name))
  if (node === undefined || node.beatAt <= now - SILENT_MS) return { rows: [] }
  if (tables.endedEpochs.has(node.epoch)) return { rows: [] }
  return { rows: [{ epoch: node.epoch, beat_at: `${node.beatAt}` }] }
}

function beat({ now }: Moment, values: readonly unknown[]): Deed {
  const [name, epoch] = values.slice(-2)
  return {
    write: (tables) => {
      const node = tables.nodes.get(text(name))
      if (node === undefined || node.epoch !== epoch) return []
      const beatingSince = node.beatAt < now - MISSED_MS ? now : node.beatingSince
      tables.nodes.set(text(name), { epoch: node.epoch, beatAt: now, beatingSince })
      return [{}]
    },
  }
}

function findKey({ tables }: Moment, [id]: readonly unknown[]): Deed {
  const key = tables.keys.get(text(id))
  return { rows: key === undefined ? [] : [foundRow(key)] }
}

const foundRow = (key: ApiKey): Row => ({
  ...fromKey(key),
  account_limits: fromLimits(key.accountLimits),
})

function findKeys({ tables }: Moment, [digests]: readonly unknown[]): Deed {
  const asked = new Set(texts(digests))
  const rows = tables.customers.flatMap(({ id, secret }): Row[] => {
    const sha256 = Buffer.from(Bun.SHA256.hash(secret, 'base64'), 'base64')
    const key = tables.keys.get(id)
    if (key === undefined || !asked.has(`\\x${sha256.toString('hex')}`)) return []
    const catalogue = tables.catalogueVersion
    return [{ ...foundRow(key), sha256, secret_ends: null, catalogue }]
  })
  return { rows }
}

function findAnswer({ tables }: Moment, [key, name, after]: readonly unknown[]): Deed {
  const kept = findKept(tables, text(key), text(name), number(after) + 86_400_000)
  if (kept === null) return { rows: [] }
  const { id, digest, generation, contentType, bytes, createdAt, pieces } = kept
  const row = { id, bytes, created_at: createdAt, body: pieces.get(0) }
  return {
    rows: [{ ...row, body_sha256: digest, generation_id: generation, content_type: contentType }],
  }
}

function stageAnswer(moment: Moment, values: readonly unknown[]): Deed {
  const [key, name, digest, generation, contentType, bytes, createdAt] = values
  const id = moment.nextId()
  return {
    rows: [{ id }],
    write: (tables) => {
      tables.answers.set(id, {
        id,
        ...{ key: text(key), name: text(name), digest: text(digest) },
        ...{ generation: text(generation), contentType: text(contentType) },
        ...{ bytes: number(bytes), createdAt: number(createdAt) },
        pieces: new Map(),
        isWhole: false,
      })
      return [{ id }]
    },
  }
}

/** A key's windows are told with its verdicts; what is asked beside them is what it has in progress. */
const usageOf = (tables: Tables, ids: readonly string[]): readonly Row[] =>
  ids.map((id, nth) => ({
    o: nth,
    known: tables.keys.has(id),
    in_progress: tables.keySums.get(id)?.inProgress ?? 0,
    held: tables.keySums.get(id)?.held ?? 0,
    ...{ spent_day: 0, spent_month: 0, rpm: null, rpd: null, tpm: null },
  }))

const columnsOf = (values: readonly unknown[]) => values.map(readArray)

function admitted(values: readonly unknown[]): (tables: Tables) => readonly Row[] {
  const [takes, sentAt, epoch, ...rest] = values
  const columns = columnsOf(rest)
  const at = (column: number, row: number): string | null => columns[column]?.[row] ?? null
  const big = (column: number, row: number): never => BigInt(at(column, row) ?? 0) as never
  const offer = (row: number): OfferCost => ({
    promptTokens: number(at(15, row)),
    base: big(16, row),
    perMillion: big(17, row),
    choices: number(at(18, row)),
    full: number(at(19, row)),
    floor: number(at(20, row)),
    fullOutput: big(21, row),
  })
  const claims = (columns[0] ?? []).map((generationId, nth): AskedClaim => {
    const first = number(at(13, nth)) - 1
    const name = at(11, nth)
    const asked = {
      generationId,
      requestId: at(1, nth),
      owner: { node: at(2, nth), epoch: at(3, nth) },
      keyId: at(4, nth),
      at: number(at(5, nth)),
      catalogue: orNull(at(6, nth), number),
      model: at(7, nth),
      endUser: at(8, nth),
      surface: at(9, nth),
      session: at(10, nth),
      repeat: name === null ? null : { key: name, digest: at(12, nth) },
      offers: Array.from({ length: number(at(14, nth)) }, (_, n) => offer(first + n)),
    }
    return asked as unknown as AskedClaim
  })
  return (tables) =>
    admit(tables, takes === true, { now: number(sentAt), epoch: text(epoch) }, claims)
}

/** Lines of the log by their columns, as the statement brings them. */
function linesOf(values: readonly unknown[]): readonly Line[] {
  const columns = columnsOf(values)
  return (columns[0] ?? []).map((_, nth) =>
    Object.fromEntries(
      ACTIVITY_COLUMNS.map((name, column) => [name, cast(columns[column]?.[nth] ?? null, column)]),
    ),
  )
}

/** As the type of its array says. */
function cast(value: string | null, column: number): string | number | boolean | null {
  const type = LINE_ARRAYS[column - 1] ?? 'text'
  if (value === null || type.includes('text')) return value
  return type.includes('boolean') ? value === '1' : Number(value)
}

function settled(values: readonly unknown[]): (tables: Tables) => readonly Row[] {
  const [ids, , amounts, , , answers, ...rest] = values
  const amountOf = readArray(amounts)
  const answerOf = readArray(answers)
  const batch = linesOf([ids, ...rest]).map(
    (line, nth): AskedSettlement => ({
      generation: text(line['generation_id']),
      amount: orNull(amountOf[nth], number),
      answer: orNull(answerOf[nth], number),
      line,
    }),
  )
  return (tables) => settle(tables, batch)
}
