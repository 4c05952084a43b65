// Start-up, measured against an empty program compiled by the same recipe on the same machine.
import { existsSync, writeFileSync } from 'node:fs'
import { BINARY, compile } from '../compile.ts'
import { bareEnvironment, initialise, run } from './run.ts'

const ROUNDS = 60
/** On a machine that is busy with other work sixty starts may pass without one that was left alone. */
const MAX_ROUNDS = 300

/** Passes when the fastest of sixty starts, or of some more, costs at most so many times an empty program's. */
export async function startsWithin(times: number, args: readonly string[], scratch: string) {
  const empty = await emptyProgram(scratch)
  if (args[0] !== '--version') initialise(scratch)
  run(args, scratch)
  let floorMs = Number.POSITIVE_INFINITY
  let ownMs = Number.POSITIVE_INFINITY
  // In turns, so that a noisy second on the machine is noise to both.
  for (
    let round = 0;
    round < ROUNDS || (ownMs > times * floorMs && round < MAX_ROUNDS);
    round += 1
  ) {
    floorMs = Math.min(floorMs, timed([empty], scratch))
    ownMs = Math.min(ownMs, timed([BINARY, ...args], scratch))
  }
  const ratio = ownMs / floorMs
  const line = `${ownMs.toFixed(1)} ms, ${ratio.toFixed(2)}× an empty program (limit ${times}×)`
  if (ratio > times) throw new Error(`too slow: ${line}`)
  return line
}

async function emptyProgram(scratch: string): Promise<string> {
  const outfile = `${scratch}/empty`
  if (existsSync(outfile)) return outfile
  // console.log and not process.stdout, whose first use alone costs some 8 ms.
  writeFileSync(`${scratch}/empty.ts`, "console.log('')\n")
  await compile({ entry: `${scratch}/empty.ts`, outfile })
  return outfile
}

function timed(command: string[], scratch: string): number {
  const startedMs = performance.now()
  Bun.spawnSync(command, { cwd: scratch, env: bareEnvironment(scratch), stdin: 'ignore' })
  return performance.now() - startedMs
}
