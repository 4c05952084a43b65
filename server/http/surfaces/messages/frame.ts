/** A frame of a stream as Anthropic sends it: named like its data's `type`. */
export const frame = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`

export const STOP = frame('message_stop', '{"type":"message_stop"}')
