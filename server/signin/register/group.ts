/** Groups of people: names by which applications are opened to them, and that they are told of (the claim `groups`). */
import type { Act } from '#domain/act.ts'
import type { Person, PersonId } from './person.ts'

export interface Group {
  readonly name: string
  /** How many belong to it. */
  readonly people: number
}

/** Port: who belongs to which group. A group exists as long as somebody belongs to it. */
export interface Groups {
  /** `newcomer`, if any, is that person, and is added first. False if they belong to it already. @throws person_not_found, already_exists */
  add(name: string, personId: PersonId, newcomer: Person | null, act: Act): Promise<boolean>
  /** False if they do not belong to it. */
  remove(name: string, personId: PersonId, act: Act): Promise<boolean>
  /** In the order of the names. */
  ofPerson(personId: PersonId): Promise<readonly string[]>
  /** In the order of the addresses. */
  members(name: string): Promise<readonly Person[]>
  /** In the order of the names. */
  list(): Promise<readonly Group[]>
}
