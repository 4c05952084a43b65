// A clean copy of a commit with the packages of its lock file, in a new directory: nothing of this checkout is in a release.
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './run.ts'
import type { Target } from './runtimes.ts'

export interface Stage {
  readonly place: string
  readonly version: string
  /** Compiles one target into `outfile`, upon the Bun that is given. */
  build(target: Target, runtime: string, outfile: string): Promise<void>
  /** The same, and tells where the packages stand that are in it. */
  buildAndTell(target: Target, runtime: string, outfile: string): Promise<readonly string[]>
  close(): void
}

export async function openStage(root: string, commit: string): Promise<Stage> {
  const place = await unpack(root, commit)
  // What ships is the packages of the lock file, without a script of theirs having run.
  await run(['npm', 'ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: place,
  })
  const { version } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as {
    version: string
  }
  const build = async (target: Target, runtime: string, outfile: string, ...more: string[]) => {
    const wishes = ['--target', target, '--runtime', runtime, '--outfile', outfile, ...more]
    await run([process.execPath, 'scripts/build.ts', ...wishes], { cwd: place })
  }
  return {
    place,
    version,
    build,
    async buildAndTell(target, runtime, outfile) {
      const list = join(place, 'packages.json')
      await build(target, runtime, outfile, '--packages', list)
      return JSON.parse(readFileSync(list, 'utf8')) as readonly string[]
    },
    close: () => rmSync(place, { recursive: true, force: true }),
  }
}

/** What a script of a commit prints, with the development packages of this checkout, such as the compiler. */
export async function printFromCommit(
  script: string,
  root: string,
  commit: string,
): Promise<string> {
  const place = await unpack(root, commit)
  try {
    symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))
    return await run([process.execPath, script], { cwd: place })
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

async function unpack(root: string, commit: string): Promise<string> {
  const place = mkdtempSync(join(tmpdir(), 'gatewayctl-stage-'))
  const archive = join(place, 'source.tar')
  await run(['git', 'archive', '--format=tar', '-o', archive, commit], { cwd: root })
  await run(['tar', '-xf', archive, '-C', place])
  rmSync(archive)
  return place
}
