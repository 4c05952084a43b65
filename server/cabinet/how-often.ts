/** How often something may be done: changes and prompts in a minute, invitations in a day. Refused attempts do not prolong it. */
import { type Clock, DAY_MS, type Instant, MINUTE_MS } from '#domain/clock.ts'
import type { AccountId } from '#domain/id.ts'
import { emailKey, readEmail } from '#signin/register/email.ts'
import type { PersonId } from '#signin/register/person.ts'

export interface Most {
  readonly byPerson: number
  readonly byAddress: number
}

/** Every form. */
export const CHANGES: Most = { byPerson: 120, byAddress: 1_200 }
/** Prompts, which are paid for. */
export const TRIES: Most = { byPerson: 10, byAddress: 60 }

/** People, and addresses, that are remembered. */
const MAX_KNOWN = 10_000

/** Counts one; seconds until the next may be asked for, null if this one may. */
export type Count = (personId: PersonId, address: string) => number | null

export function limitPerMinute(clock: Clock, { byPerson, byAddress }: Most): Count {
  const people = countTo(byPerson, MINUTE_MS)
  const addresses = countTo(byAddress, MINUTE_MS)
  return (personId, address) => {
    const at = clock.now()
    const waits = [people(personId, at), addresses(address, at)].filter((wait) => wait !== null)
    return waits.length === 0 ? null : Math.max(...waits)
  }
}

/** Invitations in a day: mails to somebody who did not ask for them. */
const INVITATIONS = { toOne: 3, ofAccount: 50 }

export interface InvitationWait {
  readonly seconds: number
  readonly most: number
  /** Whether it is the limit of the account, and not of the address. */
  readonly isOfAccount: boolean
}

/** Counts an invitation of an account to an address; null if it may be sent. */
export function limitInvitations(
  clock: Clock,
): (account: AccountId, text: string) => InvitationWait | null {
  const { toOne, ofAccount } = INVITATIONS
  const addresses = countTo(toOne, DAY_MS)
  const accounts = countTo(ofAccount, DAY_MS)
  return (account, text) => {
    const at = clock.now()
    const email = readEmail(text)
    // What is no address is mailed to nobody.
    if (email === undefined) return null
    const ofAddress = addresses(`${account} ${emailKey(email)}`, at)
    if (ofAddress !== null) return { seconds: ofAddress, most: toOne, isOfAccount: false }
    const wait = accounts(account, at)
    return wait === null ? null : { seconds: wait, most: ofAccount, isOfAccount: true }
  }
}

function countTo(most: number, withinMs: number): (name: string, at: Instant) => number | null {
  const asked = new Map<string, number[]>()
  return (name, at) => {
    const lately = (asked.get(name) ?? []).filter((when) => when > at - withinMs && when <= at)
    asked.delete(name)
    const [longestAgo] = asked.keys()
    if (asked.size >= MAX_KNOWN && longestAgo !== undefined) asked.delete(longestAgo)
    const [oldest = at] = lately
    const isOver = lately.length >= most
    asked.set(name, isOver ? lately : [...lately, at])
    return isOver ? Math.max(1, Math.ceil((oldest + withinMs - at) / 1000)) : null
  }
}
