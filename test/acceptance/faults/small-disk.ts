/** A gateway whose data is on a real disk of a few megabytes: a tmpfs, where this machine allows mounting one. */
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'

const MEBIBYTE = 2 ** 20
const BALLAST = Buffer.alloc(MEBIBYTE, 1)

export interface SmallDisk {
  readonly cli: CliHarness
  /** Fills the disk until this many mebibytes are free; 0 leaves no free byte. */
  fill(leftMebibytes: number): void
  /** Removes what `fill` wrote. */
  free(): void
  /** An option of `mount -o remount`: `ro`, `rw`. */
  remount(option: string): void
  close(): void
}

const run = (...command: string[]): boolean => Bun.spawnSync(command).exitCode === 0

/** Undefined, with one message, where mounting is not allowed. */
export function openSmallDisk(mebibytes: number): SmallDisk | undefined {
  const cli = openCli()
  const { dataDir } = cli
  mkdirSync(dataDir, { mode: 0o700 })
  if (!run('mount', '-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=0700`, 'tmpfs', dataDir)) {
    cli.close()
    process.stdout.write('small disks: skipped, nothing may be mounted here\n')
    return undefined
  }
  const ballast = join(dataDir, 'ballast')
  return {
    cli,
    fill(leftMebibytes) {
      const file = openSync(ballast, 'a', 0o600)
      try {
        const { bavail, bsize } = statfsSync(dataDir)
        let bytes = bavail * bsize - leftMebibytes * MEBIBYTE
        // What does not fit any more is written in part.
        while (bytes > 0) bytes -= writeSync(file, BALLAST, 0, Math.min(bytes, MEBIBYTE))
      } catch (cause) {
        if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOSPC')) throw cause
      } finally {
        closeSync(file)
      }
    },
    free: () => rmSync(ballast, { force: true }),
    remount(option) {
      if (!run('mount', '-o', `remount,${option}`, dataDir))
        throw new Error(`cannot remount ${option}`)
    },
    close() {
      run('umount', '-l', dataDir)
      cli.close()
    },
  }
}
