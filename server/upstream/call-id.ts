/** Ids for tool calls that a provider sent without one. */

/** Unique across turns too, because a client sends it back beside the ids of earlier answers. */
export const newCallId = (): string => `call_${crypto.randomUUID().replaceAll('-', '')}`
