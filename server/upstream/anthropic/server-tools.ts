/** Theirs → ours: what the blocks of an answer tell of the tools that the vendor runs, beside its usage and before it. */
import type { JsonObject } from '#domain/chat.ts'
import { readObject, readText } from '#domain/json.ts'
import { tokensOf, utf8Bytes } from '#domain/text-size.ts'
import { NO_CALLS, type ServerCalls, type Usage } from '#domain/usage.ts'
import { MAX_TOOLS } from '../server-calls.ts'

/** A class because there may be thousands of streams at once. */
export class ServerTools {
  /** Code that the vendor ran, which no usage counts. */
  private executions = 0
  private calls: ServerCalls = NO_CALLS
  /** What the tools have found: prompt of the model's next step, which only the last usage counts. Measured if that does not come. */
  private found: unknown[] = []

  /** Whether the block is of such a tool. */
  note(block: JsonObject): boolean {
    const type = readText(block['type']) ?? ''
    if (type === 'server_tool_use') {
      this.count(readText(block['name']) ?? '', 1)
      return true
    }
    const tool = RESULT.exec(type)?.[1]
    if (tool === undefined) return false
    if (CODE.test(tool)) this.executions++
    // One that failed is not billed.
    if (isFailed(block)) this.count(tool, -1)
    this.found.push(block['content'] ?? '')
    return true
  }

  /** The prompt has been counted anew, with what was found. */
  noteCounted(): void {
    this.found = []
  }

  /** For the count of a whole answer: a tool that it does not state was not called. */
  complete(usage: Usage): Usage {
    const stated = usage.serverCalls ?? NO_CALLS
    const { executions } = this
    const serverCalls = executions === 0 ? stated : { ...stated, code_execution: executions }
    return { ...usage, serverCalls }
  }

  /** For a count that was made before the answer was complete: that none has been seen does not say that none was made. */
  soFar(usage: Usage): Usage {
    const bytes = this.found.reduce((sum: number, one) => sum + utf8Bytes(JSON.stringify(one)), 0)
    const inputTokens = usage.inputTokens + tokensOf({ bytes, dense: 0 })
    const seen = { ...usage.serverCalls, ...this.calls }
    return { ...usage, inputTokens, serverCalls: Object.keys(seen).length === 0 ? null : seen }
  }

  private count(name: string, by: number): void {
    const tool = CODE.test(name) ? 'code_execution' : name
    const { calls } = this
    const isNew = calls[tool] === undefined
    if (!NAME.test(tool) || (isNew && Object.keys(calls).length >= MAX_TOOLS)) return
    this.calls = { ...calls, [tool]: Math.max(0, (calls[tool] ?? 0) + by) }
  }
}

const NAME = /^[a-z_]{1,48}$/
const RESULT = /^([a-z_]+)_tool_result$/
const CODE = /code_execution$/

const isFailed = ({ content }: JsonObject): boolean =>
  /_error$/.test(readText(readObject(content)['type']) ?? '')
