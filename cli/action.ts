/** What every command file consists of: a mounted command whose action receives a context. */
import type { Command } from 'commander'
import { type Context, type GlobalFlags, openContext } from './context.ts'

/** Adds one command to its noun and returns it. */
export type Mount = (noun: Command) => Command

/** Turns an act into a commander action: the context first, then the arguments, then the flags. */
export const action =
  <Args extends readonly unknown[]>(act: (context: Context, ...args: Args) => Promise<void>) =>
  async (...given: readonly unknown[]): Promise<void> => {
    const command = given.at(-1) as Command
    const context = openContext(command.opts<GlobalFlags>())
    if (context.configFile.isNamed) {
      const { requireNamedFile } = await import('./settings/config-file.ts')
      requireNamedFile(context)
    }
    await act(context, ...(given.slice(0, -1) as unknown as Args))
  }
