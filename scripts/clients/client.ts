/** A client as the matrix drives it. */
import type { Kit } from './kits.ts'
import type { Turn } from './turn.ts'

export type Surface = 'chat' | 'messages' | 'responses'

export interface Client {
  /** Its row: the package, and the dialect where it has several. */
  readonly name: string
  readonly kit: Kit
  readonly surface: Surface
  readonly calls: Turn['calls']
  /** How many turns it plays; 1 unless it says more. */
  readonly turns?: number
  /** It must ask for nothing that is paid. */
  readonly free?: true
  /** Gigabytes to install: it runs only when named. */
  readonly isLarge?: true
  command(at: Place): Command
}

export interface Place {
  /** An empty directory, and home. */
  readonly home: string
  /** Where its kit is installed. */
  readonly kit: string
  /** The gateway's, without `/v1`. */
  readonly url: string
  readonly key: string
  readonly model: string
  /** Another name of it, such as Anthropic's models have. */
  readonly alias: string
}

export interface Command {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
}
