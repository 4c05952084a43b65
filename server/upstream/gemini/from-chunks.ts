/** Theirs → ours: one or more GenerateContentResponses as one answer. */
import type { ChatEvent, FinishReason, JsonObject } from '#domain/chat.ts'
import { isObject, readList, readObject, readText } from '#domain/json.ts'
import { NO_USAGE, type Usage } from '#domain/usage.ts'
import { readChoiceIndex } from '../read-json.ts'
import { fromFinish } from './from-finish.ts'
import { fromLogprobs } from './from-logprobs.ts'
import { type Parts, startParts } from './from-parts.ts'
import { fromUsage, isOneSided } from './from-usage.ts'

interface Choice {
  readonly parts: Parts
  /** Gemini's finish reason. */
  finish: string | null
}

export interface Chunks {
  /** Appends the events of a chunk, without its usage. */
  note(chunk: JsonObject, into: ChatEvent[]): void
  /** Appends the latest usage if it is new. It grows with every chunk, and the client may disconnect after any. */
  emitUsage(into: ChatEvent[]): void
  /** Appends the finish reasons and the last usage. */
  conclude(into: ChatEvent[]): void
  /** Whether a candidate or a block reason has arrived. */
  readonly begun: boolean
  /** Whether every candidate has a finish reason, or the prompt was blocked. */
  readonly complete: boolean
}

export function startChunks(): Chunks {
  const choices = new Map<number, Choice>()
  let usage: Usage | undefined
  /** It lacks a side, which is estimated; a prompt that was blocked has no other. */
  let isHalf = false
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
    isHalf = isOneSided(metadata) && blocked === null
    isEmitted = false
  }

  const pushUsage = (isWhole: boolean, into: ChatEvent[]): void => {
    if (usage !== undefined) into.push({ type: 'usage', usage, ...(!isWhole && { partial: true }) })
  }

  return {
    note(chunk, into) {
      const candidates = readList(chunk['candidates'])
      for (const [index, candidate] of candidates.entries()) noteCandidate(candidate, index, into)
      // A blocked prompt has no candidates. Zero counts are omitted in Google's JSON.
      if (choices.size === 0) {
        blocked ??= readText(readObject(chunk['promptFeedback'])['blockReason']) ?? null
      }
      noteUsage(chunk['usageMetadata'])
    },
    emitUsage(into) {
      if (isEmitted || usage === undefined) return
      isEmitted = true
      pushUsage(isComplete() && !isHalf, into)
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
      pushUsage(!isHalf, into)
    },
    get begun() {
      return choices.size > 0 || blocked !== null
    },
    get complete() {
      return isComplete()
    },
  }
}
