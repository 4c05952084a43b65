/** `gatewayctl providers show`: one upstream account, without its credential. */

import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { call } from '../gateway/operator.ts'
import { printRecord } from '../terminal/output.ts'
import { describeTrouble } from './describe-trouble.ts'

type Trouble = VerbRecord<'providers.show'>['failing_credentials'][number]

export const mount: Mount = (providers) =>
  providers
    .command('show')
    .description('show one upstream account')
    .argument('<name>')
    .action(
      action(async (context, name: string) => {
        const provider = await call(context, 'providers.show', { name })
        printRecord(context, provider, provider.name, [
          ['name', provider.name],
          ['type', provider.type],
          ['base url', provider.base_url],
          ['key', provider.has_credential ? `encrypted${several(provider.credentials)}` : 'none'],
          ...provider.failing_credentials.map((one) => troubleField(context, one)),
          ['output bound', `${provider.output_bound ?? '–'} (${provider.output_bound_source})`],
          ['models', provider.models],
          ['unpriced', provider.unpriced_models],
          ['routed models', provider.routed_models],
          ['created', provider.created_at],
        ])
      }),
    )

/** "b: refused (401), resting 40s" */
function troubleField(context: Context, one: Trouble): readonly [string, string] {
  return ['failing key', `${one.credential}: ${describeTrouble(one, context.clock.now())}`]
}

/** The names, where there are several. */
const several = (names: readonly string[]): string =>
  names.length < 2 ? '' : `: ${names.join(', ')}`
