/** Changes of the other names of models. */
import { GatewayError } from '#domain/errors.ts'
import type { ModelAlias, ModelCards } from '#domain/model-card.ts'
import { aliasNotFound, modelNotFound } from '../rows/catalogue-rows.ts'
import { run } from '../statements.ts'
import type { HeldCatalogue } from './held.ts'

export const createAliases = (catalogue: HeldCatalogue): Pick<ModelCards, 'alias' | 'unalias'> => ({
  async alias({ name, model }, act) {
    await catalogue.change(
      act,
      undefined,
      function* ({ before: { models, aliases } }) {
        if (!models.has(model)) throw modelNotFound(model)
        if (models.has(name)) {
          throw new GatewayError('already_exists', `${name} is the id of a model`)
        }
        yield* run(
          `INSERT INTO aliases (name, model_id) VALUES ($name, $model)
           ON CONFLICT (name) DO UPDATE SET model_id = excluded.model_id`,
          { name, model },
        )
        return aliases.get(name) ?? null
      },
      (before) => ({ model: { from: before, to: model } }),
    )
  },
  unalias: (name, act) =>
    catalogue.change(
      act,
      undefined,
      function* ({ before: { aliases } }) {
        const model = aliases.get(name)
        if (model === undefined) throw aliasNotFound(name)
        yield* run('DELETE FROM aliases WHERE name = $name', { name })
        return { name, model }
      },
      ({ model }) => ({ model: { from: model, to: null } }),
    ) as Promise<ModelAlias>,
})
