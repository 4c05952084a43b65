/** `Bun.serve` of a world: who listens on a port, and requests to one of them. */
import type { Life, World } from './world.ts'

type Fetch = (request: Request) => Response | Promise<Response>

/** One process that listens. */
export interface Served {
  readonly life: Life
  readonly port: number
  readonly fetch: Fetch
  isStopped: boolean
}

const FIRST_PORT = 4_140

export function openPorts(world: World) {
  const served: Served[] = []
  return {
    serve({ port, fetch }: { readonly port: number; readonly fetch: Fetch }) {
      const one: Served = { life: world.life, port: port || FIRST_PORT, fetch, isStopped: false }
      served.push(one)
      return {
        port: one.port,
        pendingRequests: 0,
        requestIP: () => null,
        async stop() {
          one.isStopped = true
        },
      }
    },
    /** One of those that listen now; null where nobody does. */
    pick(): Served | null {
      const alive = served.filter(({ life, isStopped }) => !isStopped && !life.isDead)
      return alive[world.chance.pick(alive.length)] ?? null
    },
  }
}
