/**
 * Measures the path of a paid request: the files and lines of this project that one request runs, once the gateway is warm.
 *
 *     npm run path -- [--stream] [--lines FILE]
 *
 * Bun counts how often each line ran (`bun test --coverage`, lcov). The same process with one request and with eight: what ran
 * seven times more, or oftener, is of every request. Coverage does not say in which order: docs/architecture.md lists the files
 * of a whole answer so, and what the list lacks, or has in vain, is printed last.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const FEW = 1
const MANY = 8

const { values } = parseArgs({
  options: { stream: { type: 'boolean', default: false }, lines: { type: 'string' } },
})

/** How often each line of each file ran. */
type Counts = ReadonlyMap<string, ReadonlyMap<number, number>>

const few = count(FEW)
const many = count(MANY)
const run = new Map<string, readonly number[]>()
for (const [file, lines] of many) {
  const perRequest = [...lines].filter(
    ([line, hits]) => hits - (few.get(file)?.get(line) ?? 0) >= MANY - FEW,
  )
  if (perRequest.length > 0)
    run.set(
      file,
      perRequest.map(([line]) => line),
    )
}
if (values.lines === undefined) {
  printFiles()
  if (!values.stream) printDrift()
} else printLines(values.lines)

function count(requests: number): Counts {
  const directory = mkdtempSync(join(tmpdir(), 'path-'))
  const reports = ['--coverage', '--coverage-reporter=lcov', `--coverage-dir=${directory}`]
  // On a loaded machine the runner's own five seconds are too few.
  const limits = ['--timeout', '60000']
  const child = Bun.spawnSync(
    [process.execPath, 'test', ...limits, ...reports, './test/support/children/paid-requests.ts'],
    {
      env: { ...process.env, REQUESTS: String(requests), STREAM: String(values.stream) },
      stderr: 'pipe',
    },
  )
  if (child.exitCode !== 0) throw new Error(child.stderr.toString())
  const report = readFileSync(join(directory, 'lcov.info'), 'utf8')
  rmSync(directory, { recursive: true })
  return new Map(report.split('end_of_record\n').flatMap(readFile))
}

/** What the report says of one file of the product. */
function readFile(record: string): [string, Map<number, number>][] {
  const file = /^SF:((?:server|db|cli)\/.+)$/m.exec(record)?.[1]
  if (file === undefined) return []
  const lines = record.matchAll(/^DA:(\d+),(\d+)/gm)
  return [[file, new Map([...lines].map(([, line, hits]) => [Number(line), Number(hits)]))]]
}

function printFiles(): void {
  const rooms = Map.groupBy([...run].toSorted(), ([file]) => roomOf(file))
  for (const [room, files] of rooms) {
    console.log(
      `${room}: ${files.length} files, ${sum(files.map(([, { length }]) => length))} lines`,
    )
    for (const [file, { length }] of files) {
      console.log(`${String(length).padStart(6)} of ${String(linesOf(file)).padStart(4)}  ${file}`)
    }
  }
  const ran = sum([...run.values()].map(({ length }) => length))
  const whole = sum([...run.keys()].map(linesOf))
  console.log(`${run.size} files, ${ran} lines run, in files of ${whole} lines`)
}

/** Compares the page's list with what ran. */
function printDrift(): void {
  const page = readFileSync('docs/architecture.md', 'utf8')
  const [, list = ''] = page.split('## The files of a paid request\n')
  const [section = ''] = list.split('\n## ')
  const listed = new Set(
    [...section.matchAll(/`((?:server|db)\/[^`]+\.ts)`/g)].map(([, file]) => file),
  )
  for (const file of run.keys()) if (!listed.has(file)) console.log(`the page lacks ${file}`)
  for (const file of listed) if (!run.has(file ?? '')) console.log(`the page has ${file} in vain`)
}

/** `server/http`, `db/sqlite`; `server` for what composes. */
function roomOf(file: string): string {
  return file.split('/').slice(0, -1).slice(0, 2).join('/')
}

/** A file with a mark beside each line that a request runs. */
function printLines(file: string): void {
  const marked = new Set(run.get(file))
  for (const [at, text] of readFileSync(file, 'utf8').split('\n').entries()) {
    console.log(`${marked.has(at + 1) ? '>' : ' '} ${text}`)
  }
}

function linesOf(file: string): number {
  return readFileSync(file, 'utf8').split('\n').length - 1
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
