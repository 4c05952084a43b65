/** `gatewayctl activity list --admin`: who changed what, and when. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { readSince } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { type ListingFlags, printListing } from '../terminal/listing.ts'
import type { Column } from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'

type Act = VerbRecord<'acts.list'>[number]

export interface ActFlags extends ListingFlags {
  readonly since?: string
  readonly until?: string
}

/** Newest first. */
export async function listActs(context: Context, flags: ActFlags): Promise<void> {
  const now = context.clock.now()
  const { since, until } = flags
  const query = {
    since: since === undefined ? null : readSince('--since', since, now),
    until: until === undefined ? null : readSince('--until', until, now),
  }
  await printListing<Act>(context, flags, {
    page: (last, limit) =>
      call(context, 'acts.list', { ...query, before: last?.id ?? null, limit }),
    columns: columns(context),
    idOf: ({ id }) => id,
    csv: {
      fields: ['at', 'id', 'who', 'verb', 'target', 'changed'],
      cells: (act) => ({ ...act, changed: changesOf(act) }),
    },
  })
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
