/** `gatewayctl completion`: prints the script that a shell loads; it calls `gatewayctl __complete` for every word. */
import { action, type Mount } from './action.ts'
import { usageError } from './exit.ts'
import { print, printJson } from './terminal/output.ts'

const SCRIPTS: Readonly<Record<string, () => Promise<{ readonly default: string }>>> = {
  bash: () => import('./completion/gatewayctl.bash', { with: { type: 'text' } }),
  zsh: () => import('./completion/gatewayctl.zsh', { with: { type: 'text' } }),
  fish: () => import('./completion/gatewayctl.fish', { with: { type: 'text' } }),
  powershell: () => import('./completion/gatewayctl.ps1', { with: { type: 'text' } }),
}

const SHELLS = Object.keys(SCRIPTS).join(', ')

export const mount: Mount = (root) =>
  root
    .command('completion')
    .description('print the completion script of a shell; its first line says where to save it')
    .argument('<shell>', SHELLS)
    .action(
      action(async (context, shell: string) => {
        const load = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined
        if (load === undefined) {
          const { suggest } = await import('#forms/nearest.ts')
          throw usageError(
            `there is no completion for "${shell}"${suggest(shell, Object.keys(SCRIPTS))}`,
            `known: ${SHELLS}`,
          )
        }
        const script = (await load()).default.trimEnd()
        if (context.json) printJson({ shell, script })
        else print(script)
      }),
    )
