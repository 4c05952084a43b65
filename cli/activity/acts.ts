/** `gatewayctl activity list --admin`: who changed what, and when. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { readCount, readSince } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { printCsv } from '../terminal/csv.ts'
import { type Column, printList } from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'

type Act = VerbRecord<'acts.list'>[number]

export interface ActFlags {
  readonly since?: string
  readonly until?: string
  readonly limit: string
  readonly csv?: boolean
}

/** Newest first. */
export async function listActs(
  context: Context,
  { since, until, limit, csv }: ActFlags,
): Promise<void> {
  const now = context.clock.now()
  const acts = await call(context, 'acts.list', {
    since: since === undefined ? null : readSince('--since', since, now),
    until: until === undefined ? null : readSince('--until', until, now),
    limit: readCount('--limit', limit),
  })
  if (!csv) return printList(context, acts, columns(context), ({ id }) => id)
  const rows = acts.map((act) => ({ ...act, changed: changesOf(act) }))
  printCsv(['at', 'id', 'who', 'verb', 'target', 'changed'], rows)
}

const changesOf = ({ changed }: Act): string => JSON.stringify(changed)

const columns = (context: Context): readonly Column<Act>[] => [
  {
    title: 'at',
    full: ({ at }) => at,
    short: ({ at }) => relativeTime(at, context.clock.now()),
  },
  { title: 'who', full: ({ who }) => who },
  { title: 'action', full: ({ verb }) => verb },
  { title: 'target', full: ({ target }) => target },
  { title: 'changed', full: changesOf },
]
