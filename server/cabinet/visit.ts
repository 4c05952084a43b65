/** One request of a person who is signed in: who they are, the account they look at, and the verbs that they may run. */
import type { Account } from '#domain/account.ts'
import type { Instant } from '#domain/clock.ts'
import type { Language } from '#domain/language.ts'
import type { Actor } from '#operator/actor.ts'
import type { Perform } from '#operator/as-person.ts'
import type { OperatorDeps } from '#operator/deps.ts'
import type { Role } from '#signin/register/membership.ts'
import type { Person } from '#signin/register/person.ts'
import type { CabinetDeps } from './deps.ts'
import type { Session } from './session.ts'
import type { Words } from './words/en.ts'

/** Somebody who is signed in. */
export interface Guest {
  readonly deps: CabinetDeps
  readonly operator: Omit<OperatorDeps, 'who'>
  readonly request: Request
  readonly url: URL
  /** The client's network address. */
  readonly address: string
  readonly at: Instant
  readonly session: Session
  readonly person: Person
  readonly language: Language
  readonly words: Words
  /** The accounts that they belong to. */
  readonly accounts: readonly { readonly account: Account; readonly role: Role }[]
}

/** The same, with an account to look at. */
export interface Visit extends Guest {
  readonly account: Account
  readonly actor: Actor
  readonly role: Role
  /** Runs a verb as the person, bounded to the account. */
  readonly act: Perform
  /** Of the path: `:key`, `:id`. */
  readonly named: Readonly<Record<string, string>>
  /** The fields of a form; empty for a page. */
  readonly form: URLSearchParams
}

/** An address of the cabinet, without what is not set. */
export function hrefOf(path: string, query: Readonly<Record<string, string | null>> = {}): string {
  const stated = Object.entries(query).filter(([, value]) => value !== null && value !== '')
  const text = new URLSearchParams(stated as [string, string][]).toString()
  return text === '' ? path : `${path}?${text}`
}
