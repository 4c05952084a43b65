// One package of Debian, downloaded by apt with lists of its own: those of the machine are of its own architecture and release.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './run.ts'

export interface DebianPackage {
  /** With a version behind `=`, that one. */
  readonly name: string
  readonly architecture: string
  /** Of another release of Debian than the machine's, from the same mirror. */
  readonly suite?: string
}

/** Into the directory, where its lists stay too; needs apt. */
export async function downloadPackage(
  { name, architecture, suite }: DebianPackage,
  directory: string,
): Promise<void> {
  const state = join(directory, `apt-${suite ?? 'here'}-${architecture}`)
  for (const part of ['lists/partial', 'archives/partial']) {
    mkdirSync(join(state, part), { recursive: true })
  }
  writeFileSync(join(state, 'status'), '')
  const settings = [
    `APT::Architecture=${architecture}`,
    `APT::Architectures=${architecture}`,
    'APT::Sandbox::User=',
    `Dir::State=${state}`,
    `Dir::State::status=${join(state, 'status')}`,
    `Dir::Cache=${state}`,
    ...(suite === undefined ? [] : await sourcesOf(suite, state)),
  ].flatMap((setting) => ['-o', setting])
  await run(['apt-get', ...settings, '--quiet', 'update'])
  await run(['apt-get', ...settings, '--quiet', 'download', name], { cwd: directory })
}

/** Every Debian has the keys of the others. */
const KEYS = '/usr/share/keyrings/debian-archive-keyring.gpg'

async function sourcesOf(suite: string, state: string): Promise<readonly string[]> {
  const known = await run(['apt-get', 'indextargets', '--format', '$(REPO_URI)'])
  const [mirror = ''] = known.split('\n')
  const list = join(state, 'sources.list')
  writeFileSync(list, `deb [signed-by=${KEYS}] ${mirror} ${suite} main\n`)
  return [`Dir::Etc::sourcelist=${list}`, 'Dir::Etc::sourceparts=/dev/null']
}
