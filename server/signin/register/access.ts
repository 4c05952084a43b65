/** Who may do what, by rules that an operator writes: an address, a domain (`@example.org`), or a group. */
import { emailKey, readEmail } from './email.ts'
import type { Person } from './person.ts'

/** `ann@example.org`, or `@example.org` for all addresses of exactly that domain. */
export type AddressRule = string

/** Which unknown addresses become people once they are verified: all, or those of the rules; by none of them sign-up is closed. */
export type Signup = 'open' | readonly AddressRule[]

/** An address rule, or the name of a group. */
export type AccessRule = string

/** Who may enter an application: everybody who can sign in, or who fits a rule. */
export type Access = 'everybody' | readonly AccessRule[]

export const maySignUp = (signup: Signup, email: string): boolean =>
  signup === 'open' || signup.some((rule) => fitsAddress(rule, email))

/** An address counts once a code has proved it: an operator may have written any. */
export const mayEnter = (
  access: Access,
  {
    email,
    isEmailVerified,
    groups,
  }: Pick<Person, 'email' | 'isEmailVerified'> & { readonly groups: readonly string[] },
): boolean =>
  access === 'everybody' ||
  access.some((rule) =>
    isGroupName(rule) ? groups.includes(rule) : isEmailVerified && fitsAddress(rule, email),
  )

function fitsAddress(rule: AddressRule, email: string): boolean {
  const key = emailKey(email)
  return rule.startsWith('@') ? key.slice(key.lastIndexOf('@')) === rule : key === emailKey(rule)
}

const GROUP = /^[a-z0-9][a-z0-9._-]{0,63}$/

export const isGroupName = (text: string): boolean => GROUP.test(text)

/** The rule in its one spelling; undefined if it is none. */
export function readAddressRule(text: string): AddressRule | undefined {
  if (!text.startsWith('@')) return readEmail(text)
  const email = readEmail(`someone${text}`)
  return email?.slice('someone'.length)
}

export const readAccessRule = (text: string): AccessRule | undefined =>
  isGroupName(text) ? text : readAddressRule(text)
