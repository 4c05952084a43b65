/** Runs verbs for a person of an account: with them as their author, and bounded to what there is for them. */
import { idleTurn } from '#runtime/next-turn.ts'
import { type Actor, nameOf } from './actor.ts'
import type { OperatorDeps } from './deps.ts'
import { OF_ONESELF, requireRole } from './roles.ts'
import { type AnyVerb, perform } from './verb.ts'
import { VERBS, type VerbInput, type VerbName, type VerbRecord } from './verbs.ts'

/** Runs one verb. @throws role_not_allowed, and what the verb throws */
export type Perform = <Name extends VerbName>(
  name: Name,
  input: VerbInput<Name>,
) => Promise<VerbRecord<Name>>

/** Every verb by name, as the actor may run it. Requests pass before each: a page asks for several. */
export const performAs =
  (deps: Omit<OperatorDeps, 'who'>, actor: Actor): Perform =>
  async <Name extends VerbName>(name: Name, input: VerbInput<Name>) => {
    requireRole(actor.role, name)
    const verb: AnyVerb = await VERBS[name]()
    await idleTurn()
    const own = OF_ONESELF.has(name) ? { ...(input as object), person: actor.personId } : input
    const bounded = { ...deps, who: nameOf(actor), actor }
    return (await perform(verb, bounded, own)) as VerbRecord<Name>
  }
