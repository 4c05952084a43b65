/** Bugs that are planted to see them found: each changes a line of the gateway as it is loaded. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Plant {
  readonly file: string
  readonly from: string
  readonly to: string
}

export const PLANTS: Readonly<Record<string, Plant>> = {
  /** An answer that does not wait for its charge. */
  'answered-before-charged': {
    file: 'server/domain/walk/completion.ts',
    from: ': settle(walk, outcome, charge, null))',
    to: ': void settle(walk, outcome, charge, null).catch(() => {}))',
  },
  'released-twice': {
    file: 'db/sqlite/admission/hot-state.ts',
    from: 'release(account, account.use, hold, outcome)',
    to: 'release(account, account.use, hold, outcome); release(account, account.use, hold, outcome)',
  },
  'repeat-charges': {
    file: 'db/sqlite/admission/admissions.ts',
    from: 'const repetition = repeat && repeats.find(keyId, repeat, at)',
    to: 'const repetition = null as null | ReturnType<typeof repeats.find>',
  },
  /** What a process held that has died is never given back. */
  'hold-kept': {
    file: 'server/crew.ts',
    from: 'return await this.host?.expire(epoch)',
    to: 'return void epoch',
  },
  /** Nodes are told that a charge is committed before it would outlive a crash. */
  'committed-before-durable': {
    file: 'db/postgres/engine/connections.ts',
    from: 'statement_timeout: 2_500 }',
    to: "statement_timeout: 2_500, synchronous_commit: 'off' }",
  },
  /** What a node holds that is ended is released by each who ends it: the model stands for functions.sql. */
  'epoch-released-twice': {
    file: 'scripts/simulate/postgres/functions.ts',
    from: 'if (hold.endedAt === null) {',
    to: '{',
  },
  /** A name is not claimed by nodes. */
  'repeat-charges-at-nodes': {
    file: 'db/postgres/admission/admit.ts',
    from: 'claims.map(({ repeat }) => repeat?.key ?? null)',
    to: 'claims.map(() => null)',
  },
  /** A settlement whose answer was lost is not sent again. */
  'settlement-lost': {
    file: 'db/postgres/engine/errors.ts',
    from: 'if (!isLost(error)) throw error',
    to: 'throw error',
  },
  /** A claim whose answer was lost is not given up. */
  'claim-lost': {
    file: 'db/postgres/admission/admissions.ts',
    from: 'if (takes && isLost(error)) forget(',
    to: 'if (false) forget(',
  },
  /** A frame that arrives in pieces loses what follows it. */
  'frame-cut': {
    file: 'db/front/frame.ts',
    from: '[all.subarray(end)]\n    this.bytes = all.length - end',
    to: '[]\n    this.bytes = 0',
  },
}

/** For what is imported from now on. @throws where the line is not there any more */
export async function plant(name: string): Promise<void> {
  const bug = PLANTS[name]
  if (bug === undefined) throw new Error(`there is no bug "${name}": ${Object.keys(PLANTS)}`)
  const path = join(import.meta.dirname, '../..', bug.file)
  const text = readFileSync(path, 'utf8')
  const parts = text.split(bug.from)
  if (parts.length !== 2) throw new Error(`${bug.file} has no such line: ${bug.from}`)
  // The runtime expands no macro any more once it has a plugin.
  await import('#db/sqlite/engine/migrate.ts')
  Bun.plugin({
    name,
    setup(build) {
      const filter = new RegExp(`${bug.file.replaceAll('.', '\\.')}$`)
      build.onLoad({ filter }, () => ({ contents: parts.join(bug.to), loader: 'ts' }))
    },
  })
}
