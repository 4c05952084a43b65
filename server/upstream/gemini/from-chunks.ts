/** Theirs → ours: GenerateContentResponses, one or many of them, into one answer. */
import type { ChatEvent, FinishReason, JsonObject } from '#domain/chat.ts'
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import { isObject, readChoiceIndex, readList, readObject, readText } from '../read-json.ts'
import { fromFinish } from './from-finish.ts'
import { fromLogprobs } from './from-logprobs.ts'
import { type Parts, startParts } from './from-parts.ts'
import { fromUsage } from './from-usage.ts'

interface Choice {
  readonly parts: Parts
  /** Why it ended, in their words. */
  finish: string | null
}

/** An answer while its chunks arrive. */
export interface Chunks {
  /** Appends what this chunk says, but for its count. */
  note(chunk: JsonObject, into: ChatEvent[]): void
  /** Appends the latest count, where one has come since the last. It grows with every chunk, and a client may leave at any. */
  emitUsage(into: ChatEvent[]): void
  /** Appends the reasons to finish and the last count. */
  conclude(into: ChatEvent[]): void
  /** Whether anything of an answer, or the refusal of one, has come. */
  readonly begun: boolean
  /** Whether there is an answer, and every choice of it has ended. */
  readonly complete: boolean
}

/** Starts before the first chunk. */
export function startChunks(): Chunks {
  const choices = new Map<number, Choice>()
  let usage: Usage | undefined
  let isEmitted = true
  let blocked: string | null = null

  const choiceAt = (index: number): Choice => {
    let choice = choices.get(index)
    if (!choice) {
      choice = { parts: startParts(index), finish: null }
      choices.set(index, choice)
    }
    return choice
  }

  const noteCandidate = (value: unknown, index: number, into: ChatEvent[]): void => {
    if (!isObject(value)) return
    const choice = choiceAt(readChoiceIndex(value['index'], index))
    choice.parts.note(value['content'], fromLogprobs(value['logprobsResult']), into)
    choice.finish ??= readText(value['finishReason']) ?? null
  }

  const isComplete = (): boolean => {
    if (choices.size === 0) return blocked !== null
    for (const { finish } of choices.values()) if (finish === null) return false
    return true
  }

  const noteUsage = (metadata: unknown): void => {
    const stated = fromUsage(metadata) ?? (blocked !== null && isObject(metadata) ? NO_USAGE : null)
    if (stated === null) return
    usage = stated
    isEmitted = false
  }

  return {
    note(chunk, into) {
      const candidates = readList(chunk['candidates'])
      for (const [index, candidate] of candidates.entries()) noteCandidate(candidate, index, into)
      // A blocked prompt has no candidates; counts that are zero are left out of their JSON.
      if (choices.size === 0) {
        blocked ??= readText(readObject(chunk['promptFeedback'])['blockReason']) ?? null
      }
      noteUsage(chunk['usageMetadata'])
    },
    emitUsage(into) {
      if (isEmitted || usage === undefined) return
      isEmitted = true
      into.push(isComplete() ? { type: 'usage', usage } : { type: 'usage', usage, partial: true })
    },
    conclude(into) {
      if (choices.size === 0 && blocked !== null) {
        into.push({ type: 'finish', choice: 0, reason: 'content_filter', native: blocked })
      }
      for (const [choice, { parts, finish }] of choices) {
        const native = finish ?? 'STOP'
        const reason: FinishReason = fromFinish(native, parts.called)
        parts.conclude(into)
        into.push({ type: 'finish', choice, reason, native })
      }
      if (usage) into.push({ type: 'usage', usage })
    },
    get begun() {
      return choices.size > 0 || blocked !== null
    },
    get complete() {
      return isComplete()
    },
  }
}
