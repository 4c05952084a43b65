/** Who belongs to an account: its owners by their addresses, and how many there are. */
import type { Account } from '#domain/account.ts'
import type { OperatorDeps } from './deps.ts'

export async function peopleOf(
  { store }: OperatorDeps,
  { id }: Account,
): Promise<{ readonly owners: readonly string[]; readonly members: number }> {
  const memberships = await store.signin.memberships.ofAccount(id)
  const owners: string[] = []
  for (const { personId, role } of memberships) {
    const person = role === 'owner' ? await store.signin.people.find(personId) : undefined
    if (person !== undefined) owners.push(person.email)
  }
  return { owners, members: memberships.length }
}
