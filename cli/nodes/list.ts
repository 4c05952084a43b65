/** `gatewayctl nodes list`: the nodes that share a PostgreSQL. */
import type { NodeRecord } from '#domain/node.ts'
import { action, type Mount } from '../action.ts'
import { requireShared } from '../store/require-shared.ts'
import { type Column, printList } from '../terminal/output.ts'

export const mount: Mount = (nodes) =>
  nodes
    .command('list')
    .description('list the nodes that share a store, and whether they live')
    .action(
      action(async (context) => {
        const { address } = requireShared(context)
        const { listNodes } = await import('#db/postgres/operate.ts')
        printList(context, await listNodes(address, context.clock), COLUMNS, ({ name }) => name)
      }),
    )

const COLUMNS: readonly Column<NodeRecord>[] = [
  { title: 'node', full: ({ name }) => name },
  { title: 'state', full: ({ state }) => state },
  { title: 'in flight', right: true, full: ({ in_flight }) => in_flight },
  { title: 'version', full: ({ version }) => version },
  { title: 'schema', right: true, full: ({ schema }) => String(schema) },
  { title: 'last beat', full: ({ beat_at }) => beat_at },
  { title: 'clock ahead, ms', right: true, full: ({ ahead_ms }) => ahead_ms },
]
