/** Ids for tool calls that a provider sent without one, or with that of another call. */

/** Unique across turns too, because a client sends it back beside the ids of earlier answers. */
const newCallId = (): string => `call_${crypto.randomUUID().replaceAll('-', '')}`

/** The calls of one answer. Clients refer to a call by its id, and providers refuse a conversation with a call without one. */
export class CallIds {
  private taken: Set<string> | null = null

  /** The provider's own, where no other call has it. */
  idFor(stated: string | undefined): string {
    this.taken ??= new Set()
    const id = stated === undefined || this.taken.has(stated) ? newCallId() : stated
    this.taken.add(id)
    return id
  }
}
