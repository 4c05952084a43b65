// How the binary is built, shared by the build command, the smoke checks and the test runner.
import { execFileSync } from 'node:child_process'
import { renameSync, rmSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import project from '../package.json' with { type: 'json' }
import { shortWords } from './compile/short-words.ts'
import { standIns } from './compile/stand-ins.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Default output file. */
export const BINARY = `${ROOT}dist/gatewayctl`

/** What runs on threads of its own; each is found in the binary under its path (`db/sqlite/engine/log-checkpoint.ts`). */
const THREADS = [`${ROOT}db/sqlite/engine/log-checkpoint-thread.ts`]

/** How many times later than usual code is compiled by the JIT: a short command ends before that would repay itself. */
const JIT_POLICY = 20

type CompileOptions = {
  readonly entry?: string
  readonly outfile?: string
  /** As Bun names it, without the `bun-` in front: `linux-arm64`, `linux-x64-musl`. */
  readonly target?: string
  /** The Bun to build upon; unless told, that of the target among the installed packages. */
  readonly runtime?: string
}

/** Compiles one entry (the product's, unless told) and says how large it became and how long it took. */
export async function compile({ entry, outfile, target, runtime }: CompileOptions = {}) {
  const startedMs = performance.now()
  const destination = outfile ?? (target ? `${BINARY}-${target}` : BINARY)
  // Bun writes the name of its output into it: a constant one, or no two builds would be the same.
  const buildDirectory = `${destination}.${process.pid}`
  const draft = `${buildDirectory}/gatewayctl`
  const foreign = target ? foreignRuntime(target, runtime) : {}
  try {
    const bytecodeOrder = entry === undefined && (await orderOfShortCommand(buildDirectory))
    const { metafile } = await build(entry, { outfile: draft, bytecodeOrder, ...foreign })
    // Renamed into place, so that nobody ever starts half a file or overwrites one that is running.
    renameSync(draft, destination)
    return {
      outfile: destination,
      bytes: statSync(destination).size,
      packages: packagesIn(Object.values(metafile?.outputs ?? {})),
      tookMs: Math.round(performance.now() - startedMs),
    }
  } finally {
    rmSync(buildDirectory, { recursive: true, force: true })
  }
}

const build = (entry: string | undefined, options: Bun.CompileBuildOptions) =>
  Bun.build({
    entrypoints: entry === undefined ? [`${ROOT}cli/main.ts`, ...THREADS] : [entry],
    ...(entry === undefined && { root: ROOT }),
    // A compiled binary obeys a .env and runs a bunfig.toml preload of the directory it is started
    // in, unless told otherwise. Operators start this one anywhere, so it must not.
    compile: {
      autoloadDotenv: false,
      autoloadBunfig: false,
      jitPolicy: JIT_POLICY,
      ...options,
    },
    bytecode: true,
    metafile: true,
    ...CHUNKS,
  })

/**
 * Builds for this machine, and records what a short command runs of it: the next build lays that together, where it is read and
 * decoded sooner.
 */
async function orderOfShortCommand(directory: string): Promise<string> {
  const outfile = `${directory}/unordered/gatewayctl`
  const order = `${directory}/order`
  await build(undefined, { outfile })
  const env = { GATEWAY_DATA_DIR: `${directory}/data`, HOME: directory }
  execFileSync(outfile, ['init', '--no-input'], { env, stdio: 'pipe' })
  execFileSync(outfile, ['keys', 'list'], {
    env: { ...env, BUN_BYTECODE_ORDER_OUT: order },
    stdio: 'pipe',
  })
  return order
}

/** The places of the packages that anything in the binary is of, as the lock file names them. */
function packagesIn(outputs: readonly { readonly inputs: object }[]): readonly string[] {
  const sources = outputs.flatMap(({ inputs }) => Object.keys(inputs))
  const places = sources.flatMap(
    (source) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(source)?.[0] ?? [],
  )
  return [...new Set(places.map((place) => place.slice(place.indexOf('node_modules/'))))].toSorted()
}

/** How sources become chunks, whether they end up in one file or lie side by side. */
const CHUNKS = {
  // Splitting makes a dynamic import truly lazy; bytecode needs esm for top-level await.
  splitting: true,
  format: 'esm',
  // Whitespace only: shorter identifiers or rewritten syntax silently break the sign-in library.
  minify: { whitespace: true },
  sourcemap: 'none',
  define: {
    // Bun would inline "development" here and ship React's development build.
    'process.env.NODE_ENV': '"production"',
    GATEWAY_VERSION: JSON.stringify(project.version),
  },
  plugins: [shortWords, standIns],
} satisfies Partial<Bun.BuildConfig>

/** The chunks of the binary as files, its entry `main.js`; answers which sources went into each, by its name. */
export async function chunksInto(
  directory: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { metafile } = await Bun.build({
    entrypoints: [`${ROOT}cli/main.ts`],
    outdir: directory,
    target: 'bun',
    metafile: true,
    ...CHUNKS,
  })
  if (metafile === undefined) throw new Error('the build does not tell what is in its chunks')
  return new Map(
    Object.entries(metafile.outputs).map(([name, { inputs }]) => [
      basename(name),
      Object.keys(inputs),
    ]),
  )
}

/** The runtime of another platform comes from npm, never from a download during the build. */
function foreignRuntime(target: string, runtime?: string) {
  const platform = target.replace('arm64', 'aarch64')
  const executablePath = runtime ?? `${ROOT}node_modules/@oven/bun-${platform}/bin/bun`
  if (!statSync(executablePath, { throwIfNoEntry: false })) {
    const pinned = project.devDependencies.bun
    throw new Error(
      `no runtime for ${target}; first: npm install --no-save --force @oven/bun-${platform}@${pinned}`,
    )
  }
  return { target: `bun-${target}` as Bun.Build.CompileTarget, executablePath }
}
