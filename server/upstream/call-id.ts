/** Ids for tool calls that a provider left without one. */

/** Unlike any other, also across turns: a client sends it back beside the ids of earlier answers. */
export const newCallId = (): string => `call_${crypto.randomUUID().replaceAll('-', '')}`
