/** The owner of an admission: one run of one node. What it holds ends with it, and no later than when others know that it has ended. */
import type { EpochId } from './id.ts'

/** The node of an engine that has only one, which has no name. */
export const LOCAL_NODE = ''

export interface Owner {
  readonly node: string
  /** New at each start of the node, and never used again. */
  readonly epoch: EpochId
}
