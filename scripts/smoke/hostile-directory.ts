// The binary may be started in an untrusted directory: its .env and bunfig.toml must have no effect.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { initialise, run } from './run.ts'

/** Passes when two commands say the same in a booby-trapped directory as in a clean one. */
export function ignoresItsDirectory(scratch: string): string {
  const directory = `${scratch}/hostile`
  const sprung = `${directory}/sprung`
  mkdirSync(directory)
  writeFileSync(`${directory}/bunfig.toml`, 'preload = ["./trap.ts"]\n')
  writeFileSync(
    `${directory}/trap.ts`,
    `require('node:fs').writeFileSync(${JSON.stringify(sprung)}, '')\nconsole.log('TRAP')\n`,
  )
  writeFileSync(`${directory}/.env`, 'FORCE_COLOR=1\nGATEWAY_CONFIG=./absent.toml\nSPRUNG=1\n')

  // Plain Bun must run the preload first, or the check would prove nothing.
  const preload = 'console.log(process.env.SPRUNG)'
  const caught = Bun.spawnSync([process.execPath, '-e', preload], {
    cwd: directory,
  }).stdout.toString()
  if (!existsSync(sprung) || caught !== 'TRAP\n1\n') throw new Error('the trap itself is broken')
  rmSync(sprung)

  initialise(scratch)
  for (const args of [['--version'], ['keys', 'list']]) {
    const here = run(args, scratch, directory)
    if (existsSync(sprung)) throw new Error(`${args.join(' ')} ran the preload of bunfig.toml`)
    if (here !== run(args, scratch)) throw new Error(`${args.join(' ')} obeyed .env:\n${here}`)
  }
  return '.env and bunfig.toml have no effect'
}
