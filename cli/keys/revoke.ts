/** `gatewayctl keys revoke`: the next request with the key is refused; requests in progress complete. */
import { action, type Mount } from '../action.ts'
import { inFlight, recentRequests } from '../gateway/impact.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { noteDone, print, printJson } from '../terminal/output.ts'

export const mount: Mount = (keys) =>
  keys
    .command('revoke')
    .description('revoke keys permanently, from their next request')
    .argument('<key...>', 'ids, names or shown prefixes')
    .action(
      action(async (context, texts: readonly string[]) => {
        const keys = []
        for (const key of texts) {
          keys.push(await call(context, 'keys.show', { ...context.accountInput, key }))
        }
        const names = keys.map(({ name }) => clean(name)).join(', ')
        const running = keys.reduce((sum, { usage }) => sum + usage.requests_in_progress, 0)
        await confirm(context, {
          question: `revoke ${names}? ${await recentRequests(context, ...keys.map(({ id }) => ({ key: id })))}, ${inFlight(running)}. This cannot be undone.`,
          act: `revoke ${names}`,
        })
        const revoked = []
        for (const { id } of keys) {
          revoked.push(await call(context, 'keys.revoke', { ...context.accountInput, key: id }))
        }
        if (context.json) return printJson(revoked.length === 1 ? revoked[0] : revoked)
        for (const { id, name } of revoked) {
          noteDone(context, `revoked ${clean(name)} (${id})`)
          if (context.quiet) print(id)
        }
      }),
    )
