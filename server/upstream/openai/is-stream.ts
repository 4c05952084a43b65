/** Whether an answer is a stream, decided by the answer: some providers answer a streaming request with one body, some stream unasked. */

export const isStream = (contentType: string, asked: boolean): boolean =>
  EVENT_STREAM.test(contentType) || (asked && !ONE_BODY.test(contentType))

const EVENT_STREAM = /event-stream/i
const ONE_BODY = /json|html/i
