/** `POST /v1/messages`: Anthropic's Messages API, with the gateway's own fields (contract §7). */

import type { AnswerHead, ChatEvents } from '#domain/chat.ts'
import type { Charge } from '#domain/ledger.ts'
import type { Work } from '#domain/work.ts'
import type { Surface, WholeRenderer } from '../surface.ts'
import { NativeStream } from './native/render-stream.ts'
import { NativeFold } from './native/render-whole.ts'
import { readMessagesRequest } from './read-request.ts'
import { TranslatedStream } from './translated/render-stream.ts'
import { TranslatedFold } from './translated/render-whole.ts'

export const MESSAGES: Surface = {
  readRequest: readMessagesRequest,
  startWhole: (work) => new MessageFold(work),
  startStream: (head, work) =>
    head.isNative ? new NativeStream(work) : new TranslatedStream(head, work),
  // Claude Code shows a stall after 20 s, whatever comments came; and a `ping` is what its vendor sends.
  silence: { frame: 'event: ping\ndata: {"type": "ping"}\n\n', afterMs: 10_000 },
}

/** A whole answer: the provider's own text where it speaks the dialect, else a message of ours. Only the head tells, at the end. */
class MessageFold implements WholeRenderer {
  private readonly work: Work
  private readonly batches: ChatEvents[] = []

  constructor(work: Work) {
    this.work = work
  }

  note(events: ChatEvents): void {
    this.batches.push(events)
  }

  render(head: AnswerHead, charge: Charge): readonly string[] {
    const fold = head.isNative ? new NativeFold(this.work) : new TranslatedFold(this.work)
    for (const events of this.batches) fold.note(events)
    return fold.render(head, charge)
  }
}
