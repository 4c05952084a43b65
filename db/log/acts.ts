/** The log of acts. Nothing updates or deletes one. */
import type { Act, ActChanges, Acts } from '#domain/act.ts'
import { BEHIND_ALL } from '../rows/slice.ts'
import { all, type Engine, run, type Statements } from '../statements.ts'

type ActRow = Omit<Act, 'changed'> & { readonly changed: string }

/** Writes an act in the transaction of its change; `seen` is what that adds to it. One without changes is not written. */
export function* noteAct({ changed: stated, ...act }: Act, seen?: ActChanges): Statements<void> {
  const changed = { ...stated, ...seen }
  if (Object.keys(changed).length === 0) return
  yield* run(
    'INSERT INTO acts (id, at, who, verb, target, changed) VALUES ($id, $at, $who, $verb, $target, $changed)',
    { ...act, changed: JSON.stringify(changed) },
  )
}

export const createActs = (engine: Engine): Acts => ({
  note: (act) => engine.change(() => noteAct(act)),
  async list({ nouns, since = 0, until = Number.MAX_SAFE_INTEGER, ...query }) {
    const { verb = null, target = null, before = BEHIND_ALL, limit } = query
    const ofNoun = nouns?.map(
      (_, nth) => `substr(verb, 1, length($noun${nth}) + 1) = $noun${nth} || '.'`,
    )
    const named = Object.fromEntries(nouns?.map((noun, nth) => [`noun${nth}`, noun]) ?? [])
    const rows = await engine.read(() =>
      all<ActRow>(
        `SELECT * FROM acts WHERE at >= $since AND at < $until AND (CAST($verb AS text) IS NULL OR verb = $verb)
           AND id < $before AND (CAST($target AS text) IS NULL OR target = $target)
           AND (${ofNoun === undefined ? '1 = 1' : ofNoun.join(' OR ') || '1 = 0'})
         ORDER BY id DESC LIMIT $limit`,
        { since, until, verb, target, before, limit, ...named },
      ),
    )
    return rows.map((row) => ({ ...row, changed: JSON.parse(row.changed) }))
  },
})
