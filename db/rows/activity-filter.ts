/** Which lines of the activity log a query asks for. */
import { and, type Column, eq, gte, lte, ne, type SQL, sql } from 'drizzle-orm'
import type { ActivityQuery } from '#domain/activity.ts'

type ActivityColumns = Readonly<
  Record<
    | 'accountId'
    | 'endedBy'
    | 'endUser'
    | 'generationId'
    | 'keyId'
    | 'model'
    | 'provider'
    | 'requestId'
    | 'status'
    | 'surface'
    | 'totalMs',
    Column
  >
>

/** What a line must match, but when it arrived. `endsIn`: a column's last characters are these. */
export const activityFilter = (
  activity: ActivityColumns,
  query: Omit<ActivityQuery, 'limit'>,
  endsIn: (column: Column, end: string) => SQL,
): SQL | undefined =>
  and(
    query.accountId && eq(activity.accountId, query.accountId),
    query.keyId && eq(activity.keyId, query.keyId),
    query.madeBy === undefined ? undefined : madeBy(activity.keyId, query.madeBy),
    query.endUser === undefined ? undefined : eq(activity.endUser, query.endUser),
    query.requestId === undefined ? undefined : eq(activity.requestId, query.requestId),
    query.idEnd === undefined ? undefined : endsIn(activity.generationId, query.idEnd),
    query.model === undefined ? undefined : eq(activity.model, query.model),
    query.provider === undefined ? undefined : eq(activity.provider, query.provider),
    query.surface === undefined ? undefined : eq(activity.surface, query.surface),
    query.status && gte(activity.status, query.status.least),
    query.status && lte(activity.status, query.status.most),
    query.leastTotalMs === undefined ? undefined : gte(activity.totalMs, query.leastTotalMs),
    query.errorsOnly ? ne(activity.endedBy, 'completed') : undefined,
  )

const madeBy = (column: Column, person: string): SQL =>
  sql`${column} IN (SELECT id FROM keys WHERE made_by = ${person})`
