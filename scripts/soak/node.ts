/** A node that is soaked: a process of its own behind its own way to both servers of the database. */
import { join } from 'node:path'
import type { Findings } from './findings.ts'
import { type Life, startLife } from './life.ts'
import type { Pair } from './pair.ts'
import { type Relay, startRelay, type Trouble } from './relay.ts'
import type { SoakRig } from './rig.ts'

/** A way to the database. */
export interface Link {
  /** By `GATEWAY_STORE`'s form. */
  readonly address: string
  set(trouble: Trouble): void
  close(): void
}

export async function openLink({ sockets }: Pair): Promise<Link> {
  const relays: readonly Relay[] = await Promise.all(sockets.map(startRelay))
  const hosts = relays.map(({ port }) => `127.0.0.1:${port}`)
  return {
    address: `postgres://postgres@${hosts.join(',')}/gateway?sslmode=disable`,
    set: (trouble) => {
      for (const relay of relays) relay.set(trouble)
    },
    close: () => {
      for (const relay of relays) relay.close()
    },
  }
}

export interface SoakNode {
  readonly name: string
  readonly link: Link
  /** The process that it is now. */
  life: Life
  /** A balancer would have found out that it is gone. */
  isDown: boolean
  /** Its database is, or was just now, out of reach; others may have ended it. */
  isTroubled: boolean
  start(): Promise<void>
}

export async function openNode(rig: SoakRig, pair: Pair, name: string): Promise<SoakNode> {
  const link = await openLink(pair)
  const own = {
    GATEWAY_STORE: link.address,
    GATEWAY_NODE: name,
    GATEWAY_DATA_DIR: join(rig.home, name),
  }
  const body = { binary: rig.binary, env: { ...rig.env, ...own } }
  let number = 0
  const node: SoakNode = {
    name,
    link,
    life: await startLife(body, ++number),
    isDown: false,
    isTroubled: false,
    async start() {
      node.life = await startLife(body, ++number)
      node.isDown = false
    },
  }
  return node
}

/** Below the first line of a fault. */
const OF_FAULT = /^\s|^caused by/
const OF_STORE = /GatewayError: .*\bdatabase\b/

/** In order; what it has said is looked through. */
export async function leave({ name, life }: SoakNode, findings: Findings): Promise<void> {
  await life.end('SIGTERM').catch((cause) => findings.violation(`${name}: ${cause}`))
  for (const line of life.complaints.filter((one) => !OF_FAULT.test(one))) {
    if (OF_STORE.test(line)) findings.count('faults told because the database was away')
    else findings.unexplained(`${name} said: ${line}`)
  }
}
