/** Changes of the other names of models in SQLite. */
import type { Database } from 'bun:sqlite'
import { GatewayError } from '#domain/errors.ts'
import type { ModelAlias, ModelCards } from '#domain/model-card.ts'
import { aliasNotFound, modelNotFound } from '../../rows/catalogue-rows.ts'
import { type Named, statement } from '../engine/statement.ts'
import type { HeldCatalogue } from './catalogue.ts'

export const prepareNamed = (database: Database) =>
  statement<ModelAlias, [string]>(
    database,
    'SELECT name, model_id AS model FROM aliases WHERE name = ?',
  )

export function createAliases(
  database: Database,
  catalogue: HeldCatalogue,
): Pick<ModelCards, 'alias' | 'unalias'> {
  const named = prepareNamed(database)
  const set = statement<unknown, [Named]>(
    database,
    `INSERT INTO aliases (name, model_id) VALUES ($name, $model)
     ON CONFLICT (name) DO UPDATE SET model_id = excluded.model_id`,
  )
  const drop = statement<unknown, [string]>(database, 'DELETE FROM aliases WHERE name = ?')
  return {
    async alias({ name, model }, act) {
      const write = (): string | null => {
        const { models } = catalogue.current()
        if (!models.has(model)) throw modelNotFound(model)
        if (models.has(name)) {
          throw new GatewayError('already_exists', `${name} is the id of a model`)
        }
        const before = named().get(name)?.model ?? null
        set().run({ name, model })
        return before
      }
      await catalogue.change(act, write, (before) => ({ model: { from: before, to: model } }))
    },
    unalias: (name, act) =>
      catalogue.change(
        act,
        () => {
          const alias = named().get(name)
          if (alias === null) throw aliasNotFound(name)
          drop().run(name)
          return alias
        },
        ({ model }) => ({ model: { from: model, to: null } }),
      ),
  }
}
