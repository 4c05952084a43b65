/** `gatewayctl activity list --admin`: who changed what, and when. */
import type { VerbRecord } from '#operator/verbs.ts'
import type { Context } from '../context.ts'
import { type RangeFlags, readRange } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { type ListingFlags, printListing } from '../terminal/listing.ts'
import type { Column } from '../terminal/output.ts'
import { relativeTime } from '../terminal/relative-time.ts'

type Act = VerbRecord<'acts.list'>[number]

export type ActFlags = ListingFlags & RangeFlags

/** Newest first. */
export async function listActs(context: Context, flags: ActFlags): Promise<void> {
  const query = readRange(flags, context.clock.now())
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
