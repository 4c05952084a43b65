/** Ours → theirs: converts tool call ids of other vendors that this one does not accept. */
import { createHash } from 'node:crypto'
import type { ProviderType } from '#domain/provider.ts'

const MISTRAL_ID = /^[a-zA-Z0-9]{9}$/
const MAX_OPENAI_CHARS = 40

/** Deterministic, so that a call and its result keep the same id in every turn; an acceptable id is unchanged. */
export function toCallId(id: string, type: ProviderType): string {
  switch (type) {
    case 'mistral':
      return MISTRAL_ID.test(id) ? id : digestOf(id).slice(0, 9)
    case 'openai':
    case 'azure':
      return id.length <= MAX_OPENAI_CHARS ? id : `call_${digestOf(id).slice(0, 32)}`
    default:
      return id
  }
}

const digestOf = (id: string): string => createHash('sha256').update(id).digest('hex')
