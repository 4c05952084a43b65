/** A root directory with musl and the C++ library that Alpine has, and nothing else: of Debian's package, and of a wheel that brings the latter. */
import { copyFileSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { downloadPackage } from '#scripts/release/apt.ts'
import { run } from '#scripts/release/run.ts'

/** Small, and built on Alpine: its wheel carries the libraries that it was linked against. They want musl 1.2.4. */
const WHEEL = 'ujson==6.1.0'
const MUSL = { name: 'musl', architecture: 'amd64', suite: 'trixie' } as const

/** Makes it below `scratch`; answers why not where that cannot be had. */
export async function openMuslRoot(scratch: string): Promise<{ root: string } | string> {
  const root = join(scratch, 'musl-root')
  const wheel = join(scratch, 'wheel')
  mkdirSync(wheel)
  // As Debian has it today, whose package knows no other.
  mkdirSync(join(root, 'usr', 'lib'), { recursive: true })
  symlinkSync('usr/lib', join(root, 'lib'))
  try {
    await downloadPackage(MUSL, scratch)
    const deb = readdirSync(scratch).find((name) => /^musl_.*\.deb$/.test(name)) ?? ''
    await run(['dpkg-deb', '--extract', join(scratch, deb), root])
    const which = ['--platform', 'musllinux_1_2_x86_64', '--python-version', '312']
    const only = ['--no-deps', '--only-binary', ':all:', '--quiet']
    const pip = ['python3', '-m', 'pip', 'download', ...only, ...which, '--dest', wheel, WHEEL]
    await run(pip)
    const [file = ''] = readdirSync(wheel)
    await run(['python3', '-m', 'zipfile', '--extract', join(wheel, file), wheel])
  } catch (cause) {
    return cause instanceof Error ? (cause.message.split('\n').at(-1) ?? '') : String(cause)
  }
  for (const name of readdirSync(join(wheel, 'ujson.libs'))) {
    // Under the name that the wheel gives it, by which the other one asks for it, and under its own.
    const own = name.replace(/-[0-9a-f]{8}/, '').replace(/(\.so\.\d+).*/, '$1')
    for (const as of [name, own]) {
      copyFileSync(join(wheel, 'ujson.libs', name), join(root, 'lib/x86_64-linux-musl', as))
    }
  }
  return { root }
}
