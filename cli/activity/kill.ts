/** `gatewayctl activity kill`: ends one request in progress; its output so far is charged, and its client gets an error. */
import { action, type Mount } from '../action.ts'
import { EXIT, endWith } from '../exit.ts'
import { noteDemo, withDemo } from '../gateway/demo-socket.ts'
import { callRunning } from '../gateway/operator.ts'
import { noGateway } from '../gateway/operator-lines.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { paint, print, printJson, printNote } from '../terminal/output.ts'
import { spanOf } from './span.ts'

export const mount: Mount = (activity) =>
  activity
    .command('kill')
    .description('end a request in progress: output so far is charged, its client gets an error')
    .argument('<id>', 'gen-…, its end as lists show it, or the request id while only one has it')
    .action(
      action(async (given, text: string) => {
        const context = withDemo(given)
        noteDemo(context)
        const none = noGateway(context, 'gatewayctl serve')
        const scope = context.accountInput
        const found = await callRunning(context, 'activity.running', { ...scope, id: text }, none)
        const { id, key_name, model, node, elapsed_ms } = found
        await confirm(context, {
          question: `end ${id}? ${clean(key_name)} · ${clean(model)}${node === null ? '' : ` at ${clean(node)}`}, for ${spanOf(elapsed_ms)}; output so far is charged, its client gets an error.`,
          act: `end ${id}`,
        })
        const killed = await callRunning(context, 'activity.kill', { ...scope, id }, none)
        if (!killed.ended) endWith(EXIT.failed)
        if (context.json) return printJson(killed)
        printNote(
          context,
          killed.ended
            ? `${paint(context, 'green', '✓')} ended ${id} (${clean(killed.model)})\nnext: gatewayctl activity show ${id}`
            : `! ${id} is told to end; ${node === null ? 'its provider has not closed the connection' : `${clean(node)} has not ended it`} yet`,
        )
        if (context.quiet) print(id)
      }),
    )
