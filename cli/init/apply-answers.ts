/** Applies the answers given to `init`: a configuration file, an e-mail for alerts, a provider. */
import { existsSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Context } from '../context.ts'
import { makePrivateDirectory } from '../gateway/access.ts'
import { call } from '../gateway/operator.ts'
import { checkProvider, printChecked } from '../providers/check.ts'
import { clean } from '../terminal/clean.ts'
import { paint, printNote } from '../terminal/output.ts'
import type { Answers } from './questions.ts'

/** Uses the same verbs as the commands would. @throws GatewayError, CommandError */
export async function applyAnswers(
  context: Context,
  { listen, email, provider }: Answers,
): Promise<void> {
  const tick = paint(context, 'green', '✓')
  if (listen !== null) {
    const { path } = context.configFile
    writeConfig(path, listen)
    printNote(context, `${tick} config    ${clean(path)}: listen = "${listen}"`)
  }
  if (email !== null) {
    await call(context, 'thresholds.set', { email })
    printNote(
      context,
      `${tick} alerts    ${clean(email)}; to set the threshold: gatewayctl thresholds set`,
    )
  }
  if (provider !== null) {
    const record = await call(context, 'providers.add', provider)
    printNote(
      context,
      `${tick} provider  ${record.name}, ${record.models - record.unpriced_models} priced models`,
    )
    printChecked(context, record, await checkProvider(context, record.name))
  }
}

/** Creates a new file: the question is asked only where there is none. */
function writeConfig(path: string, listen: string): void {
  if (!existsSync(dirname(path))) makePrivateDirectory(dirname(path))
  writeFileSync(path, `listen = ${JSON.stringify(listen)}\n`, { mode: 0o600, flag: 'wx' })
}
