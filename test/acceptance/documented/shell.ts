/** Types a page into a shell from its first command to its last, as its reader would, with the compiled program at hand. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BINARY } from '#scripts/compile.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { freePort } from '#test/support/free-port.ts'
import type { Typed } from './pages.ts'

/** What a page takes for granted, and what of it cannot be typed here. */
export interface Plan {
  /** Typed first. */
  readonly before?: string
  /** What on the page stands for something of the reader's own, and what that is here. */
  readonly inPlace?: Readonly<Record<string, string>>
  /** Lines that are left out, by something that stands in them, and why. */
  readonly notHere?: Readonly<Record<string, string>>
  /** Blocks that are left out whole, by something that stands in them, and why. */
  readonly blocksNotHere?: Readonly<Record<string, string>>
  /** Lines that end with another code than 0, by something that stands in them. */
  readonly ends?: Readonly<Record<string, number>>
  readonly env?: Readonly<Record<string, string>>
}

export interface Told extends Typed {
  /** What was typed in the end; empty where all of it was left out. */
  readonly really: string
  /** Both streams; null where the page did not come so far. */
  readonly said: string | null
}

export interface Walk {
  /** 0 when the page was typed to its end. */
  readonly code: number
  readonly told: readonly Told[]
  /** What was said before the page began. */
  readonly before: string
}

/** A page that hangs must not hold the whole run. */
const MAX_MS = 60_000

/** `jq -r .path`, where it is not installed. */
const JQ = `#!/bin/sh
exec '${process.execPath}' -e '
const steps = process.argv.at(-1).split(/[.[\\]]+/).filter(Boolean)
console.log(steps.reduce((at, step) => at[step], await Bun.stdin.json()))' -- "$@"
`

/** The first failure ends the page, and what the page left running ends with it. */
const FRAME = `set -euo pipefail
trap 'code=$?; echo $code > code; kill $(jobs -p) 2> /dev/null || true; wait; exit $code' EXIT
curl() { command curl --fail-with-body "$@"; }
ready() { until curl -s "http://$GATEWAY_LISTEN/readyz" > ready.json; do sleep 0.02; done; }
`

export async function walk(typed: readonly Typed[], plan: Plan): Promise<Walk> {
  const cli = openCli()
  try {
    const listen = `127.0.0.1:${freePort()}`
    const inPlace = { ...plan.inPlace, '127.0.0.1:4140': listen }
    const really = typed.map(({ text }) => toReality(text, plan, inPlace))
    const steps = really.map((text, at) => `{\n${text}\n:\n} > out.${at} 2>&1`)
    const before = `{\n${plan.before ?? ':'}\n} > before 2>&1`
    await type(cli, [FRAME, before, ...steps].join('\n'), { GATEWAY_LISTEN: listen, ...plan.env })
    const read = (name: string): string | null => {
      const path = join(cli.home, name)
      return existsSync(path) ? readFileSync(path, 'utf8') : null
    }
    return {
      code: Number(read('code') ?? 'NaN'),
      before: read('before') ?? '',
      told: typed.map((one, at) => ({ ...one, really: really[at] ?? '', said: read(`out.${at}`) })),
    }
  } finally {
    cli.close()
  }
}

/** The text as it is typed: without what cannot be, and with what the reader would put in. */
function toReality(text: string, plan: Plan, inPlace: Readonly<Record<string, string>>): string {
  const { notHere = {}, blocksNotHere = {}, ends = {} } = plan
  const has = (line: string) => (part: string) => line.includes(part)
  if (Object.keys(blocksNotHere).some(has(text))) return ''
  const lines = text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => !Object.keys(notHere).some(has(line)))
    .map((line) => {
      const end = Object.entries(ends).find(([part]) => line.includes(part))
      return end ? `{ ${line}\n} || test $? -eq ${end[1]}` : line
    })
  return Object.entries(inPlace).reduce(
    (so, [page, real]) => so.replaceAll(page, real),
    lines.join('\n').trim(),
  )
}

async function type(cli: CliHarness, script: string, env: Plan['env']): Promise<void> {
  const bin = join(cli.home, 'bin')
  mkdirSync(bin)
  if (Bun.which('jq') === null) writeFileSync(join(bin, 'jq'), JQ, { mode: 0o755 })
  writeFileSync(join(cli.home, 'page.sh'), script)
  const child = Bun.spawn(['bash', 'page.sh'], {
    cwd: cli.home,
    env: {
      ...cli.env,
      PATH: `${bin}:${dirname(BINARY)}:${cli.env['PATH']}`,
      GATEWAY_AUTH_LISTEN: `127.0.0.1:${freePort()}`,
      ...env,
    },
    stdio: ['ignore', 'ignore', 'ignore'],
    timeout: MAX_MS,
  })
  await child.exited
}
