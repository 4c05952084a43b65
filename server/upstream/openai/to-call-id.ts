/** Ours → theirs: the id of a tool call that another vendor made, where this one does not take it as it is. */
import { createHash } from 'node:crypto'
import type { ProviderType } from '#domain/provider.ts'

/** Letters and digits, nine of them. */
const MISTRAL_ID = /^[a-zA-Z0-9]{9}$/
const MOST_OPENAI_CHARS = 40

/** The same id for a call and for its result, whenever the conversation comes back; as it is where that will do. */
export function toCallId(id: string, type: ProviderType): string {
  switch (type) {
    case 'mistral':
      return MISTRAL_ID.test(id) ? id : digestOf(id).slice(0, 9)
    case 'openai':
    case 'azure':
      return id.length <= MOST_OPENAI_CHARS ? id : `call_${digestOf(id).slice(0, 32)}`
    default:
      return id
  }
}

const digestOf = (id: string): string => createHash('sha256').update(id).digest('hex')
