/** `gatewayctl providers credentials`: the keys that share the requests of one upstream account; each rests alone. */
import { shellWord } from '#forms/shell-word.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { action, type Mount } from '../action.ts'
import type { Context } from '../context.ts'
import { usageError } from '../exit.ts'
import { readChoice } from '../flags/read-choice.ts'
import { isAbout, readSecretInput, type SecretFlags } from '../flags/read-secret.ts'
import { readCount } from '../flags/read-value.ts'
import { call } from '../gateway/operator.ts'
import { clean } from '../terminal/clean.ts'
import { confirm } from '../terminal/confirm.ts'
import { type Column, noteDone, printJson, printList } from '../terminal/output.ts'
import { timeLeft } from '../terminal/relative-time.ts'

interface Flags extends SecretFlags {
  readonly weight?: string
}

type Credentials = VerbRecord<'providers.credentials.list'>

const ACTS = ['list', 'add', 'remove'] as const

export const mount: Mount = (providers) =>
  providers
    .command('credentials')
    .description('list the keys of an upstream account, add or replace one, or remove one')
    .argument('<act>', ACTS.join(', '))
    .argument('<provider>')
    .argument('[name]', 'its name here; the key that came with the account is called default')
    .option('--weight <n>', 'its share of the requests; default: 1')
    .option('--key-file <file>', 'read the key from a file; - is standard input')
    .option('--from-env <name>', 'read the key from this variable')
    .action(
      action(
        async (context, word: string, provider: string, name: string | undefined, flags: Flags) => {
          const act = readChoice('the action', word, ACTS)
          if (act !== 'add') refuseFlags(act, flags)
          if (act === 'list') {
            if (name !== undefined) throw usageError('list takes a provider alone')
            return printCredentials(
              context,
              await call(context, 'providers.credentials.list', { provider }),
            )
          }
          if (name === undefined) {
            throw usageError(
              `${act} needs a name`,
              `gatewayctl providers credentials ${act} ${shellWord(provider)} NAME`,
            )
          }
          if (act === 'add') await add(context, provider, name, flags)
          else await remove(context, provider, name)
        },
      ),
    )

function refuseFlags(act: string, { weight, keyFile, fromEnv }: Flags): void {
  if ([weight, keyFile, fromEnv].every((flag) => flag === undefined)) return
  throw usageError(`${act} takes no --weight, --key-file or --from-env`)
}

/** Of one that is there, a weight alone changes the weight alone. */
async function add(context: Context, provider: string, name: string, flags: Flags): Promise<void> {
  const weight = flags.weight === undefined ? undefined : readCount('--weight', flags.weight)
  const stated = { provider, name, weight }
  const isKeyStated = flags.keyFile !== undefined || flags.fromEnv !== undefined
  const known = await call(context, 'providers.credentials.list', { provider })
  const isKnown = known.credentials.some((one) => one.name === name)
  const set = async (): Promise<Credentials> => {
    if (isKeyStated || (isKnown && flags.weight === undefined)) return await setWithKey()
    try {
      return await call(context, 'providers.credentials.set', stated)
    } catch (thrown) {
      if (!isAbout(thrown, 'credential')) throw thrown
      return await setWithKey()
    }
  }
  const setWithKey = async (): Promise<Credentials> =>
    await call(context, 'providers.credentials.set', {
      ...stated,
      credential: (await readSecretInput(context, flags)) ?? '',
    })
  const after = await set()
  const what = isKnown ? 'changed' : 'added'
  noteDone(context, `${what} credential ${name} of ${clean(provider)}, from the next request`)
  printCredentials(context, after)
}

async function remove(context: Context, provider: string, name: string): Promise<void> {
  await confirm(context, {
    question: `remove credential ${clean(name)} of ${clean(provider)}? Its secret is kept nowhere else`,
    act: `remove credential ${clean(name)} of ${clean(provider)}`,
  })
  const after = await call(context, 'providers.credentials.remove', { provider, name })
  noteDone(context, `removed credential ${clean(name)} of ${clean(provider)}`)
  printCredentials(context, after)
}

function printCredentials(context: Context, record: Credentials): void {
  if (context.json) printJson(record)
  else printList(context, record.credentials, columns(context), ({ name }) => name)
}

const columns = ({ clock }: Context): readonly Column<Credentials['credentials'][number]>[] => [
  { title: 'name', full: ({ name }) => name },
  { title: 'weight', right: true, full: ({ weight }) => weight },
  {
    title: 'health',
    full: ({ health }) => health && [health.state, health.rests_until].filter(Boolean).join(' '),
    short: ({ health }) =>
      health && [health.state, timeLeft(health.rests_until, clock.now())].filter(Boolean).join(' '),
  },
  { title: 'failures', right: true, full: ({ health }) => health?.failures_in_a_row ?? null },
]
