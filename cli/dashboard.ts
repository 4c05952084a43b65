/** `gatewayctl dashboard`: requests, limits and spend of the running gateway, live in this terminal. */
import { Option } from 'commander'
import type { SnapshotRecord } from '#operator/snapshot/record.ts'
import { action, type Mount } from './action.ts'
import type { Context } from './context.ts'
import type { DashboardActions } from './dashboard/controller.ts'
import { SCREENS, type Screen } from './dashboard/view.ts'
import { CommandError, EXIT, usageError } from './exit.ts'
import { fileExists } from './gateway/access.ts'
import { noteDemo, withDemo } from './gateway/demo-socket.ts'
import { callRunning, isTimeout, notAnswering } from './gateway/operator.ts'
import { noGateway } from './gateway/operator-lines.ts'
import { isMisreading, seeVersion } from './gateway/served-version.ts'
import { print, printJson } from './terminal/output.ts'
import { isTerminal } from './terminal/streams.ts'

interface Flags {
  readonly screen: Screen
  readonly fps: string
  readonly once?: boolean
  readonly ascii?: boolean
}

export const mount: Mount = (root) =>
  root
    .command('dashboard')
    .description('show live requests, limits and spend in this terminal; press ? for its keys')
    .addOption(
      new Option('--screen <name>', 'screen to open first').choices(SCREENS).default('live'),
    )
    .option('--fps <n>', 'frames per second, 1 to 10', '4')
    .option('--once', 'print one frame and exit')
    .option('--ascii', 'draw with ASCII characters only (GATEWAY_ASCII)')
    .action(
      action(async (given, flags: Flags) => {
        const fps = readFps(flags.fps)
        const isOnce = flags.once === true || given.json
        if (!isOnce) demandTerminal(given)
        const context = withDemo(given)
        const first = await readFirst(context)
        noteDemo(context)
        if (context.json) return printJson(first)
        if (isOnce) return await printFrame(context, flags, fps, first)
        await run(context, flags, fps, first)
      }),
    )

function readFps(text: string): number {
  const fps = Number(text)
  if (Number.isInteger(fps) && fps >= 1 && fps <= 10) return fps
  throw usageError(`--fps must be a whole number from 1 to 10 (got "${text}")`)
}

function demandTerminal({ env }: Context): void {
  if (isTerminal(0) && isTerminal(1) && env['TERM'] !== 'dumb') return
  throw usageError(
    'the dashboard needs a terminal',
    'gatewayctl dashboard --once, or gatewayctl status --json',
  )
}

/** Fails where there is no gateway to watch. */
async function readFirst(context: Context): Promise<SnapshotRecord> {
  const { readOnce, Refused, SILENCE_MS } = await import('./dashboard/feed.ts')
  if (!fileExists(context.adminSocket)) throw noGateway(context, 'gatewayctl serve')
  const source = {
    socket: context.adminSocket,
    account: context.accountInput.account,
    onAnswer: (response: Response) => seeVersion(context, response),
  }
  try {
    return await readOnce(source)
  } catch (thrown) {
    if (thrown instanceof Refused) {
      const exit = thrown.code === 'account_not_found' ? EXIT.notFound : EXIT.failed
      throw new CommandError(thrown.code, exit, thrown.message, thrown.hint)
    }
    if (isTimeout(thrown)) throw notAnswering(context, SILENCE_MS)
    throw isMisreading(thrown) ? thrown : noGateway(context, 'gatewayctl serve')
  }
}

/** Uses only the running gateway: a dashboard that opened the store would hold its lock and keep a gateway from starting. */
function actionsOf(context: Context): DashboardActions {
  const silent = { ...context, quiet: true }
  const none = noGateway(context, 'gatewayctl serve')
  const of = (account: string | undefined) => (account === undefined ? {} : { account })
  return {
    chart: (query, account) =>
      callRunning(silent, 'usage.chart', { ...query, ...of(account) }, none),
    accounts: async () =>
      (await callRunning(silent, 'accounts.list', {}, none))
        .filter(({ closed_at }) => closed_at === null)
        .map(({ name }) => name),
    async kill(id, account) {
      const { model, ended } = await callRunning(
        silent,
        'activity.kill',
        { id, ...of(account) },
        none,
      )
      return ended
        ? `ended ${id} (${model})`
        : `ending ${id}: its provider has not closed the connection yet`
    },
    async seen(upTo) {
      await callRunning(silent, 'notices.seen', { event: upTo }, none)
    },
  }
}

const USUAL = { columns: 80, rows: 24 }

async function printFrame(
  context: Context,
  { screen, ascii }: Flags,
  fps: number,
  snapshot: SnapshotRecord,
): Promise<void> {
  const [{ draw }, { glyphsFor }, { inColor, plain, toText }, { startView }] = await Promise.all([
    import('./dashboard/draw.ts'),
    import('./dashboard/glyphs.ts'),
    import('./dashboard/line.ts'),
    import('./dashboard/view.ts'),
  ])
  const view = startView(screen, fps)
  const chart =
    screen === 'spend'
      ? await actionsOf(context).chart(view.chart, context.accountInput.account)
      : null
  const lines = draw({
    view,
    snapshot,
    link: { kind: 'live' },
    awayMs: 0,
    chart,
    size: sizeOf(context),
    glyphs: glyphsFor(context.env, ascii === true),
    typed: context.typed,
  })
  for (const line of lines) print(toText(line, context.color ? inColor : plain).trimEnd())
}

/** The size of the terminal, else of COLUMNS and LINES, else the default. */
function sizeOf({ isTerminal: isRead, env }: Context) {
  const stated = (name: string, usual: number): number => {
    const value = Number(env[name])
    return Number.isInteger(value) && value > 0 ? value : usual
  }
  return isRead
    ? { columns: process.stdout.columns, rows: process.stdout.rows }
    : { columns: stated('COLUMNS', USUAL.columns), rows: stated('LINES', USUAL.rows) }
}

async function run(
  context: Context,
  { screen, ascii }: Flags,
  fps: number,
  first: SnapshotRecord,
): Promise<void> {
  // With DEV set, Ink looks for its development tools and prints that it found none.
  delete process.env['DEV']
  const [{ startController }, { runDashboard }, { glyphsFor }] = await Promise.all([
    import('./dashboard/controller.ts'),
    import('./dashboard/run.tsx'),
    import('./dashboard/glyphs.ts'),
  ])
  const controller = startController({
    source: { socket: context.adminSocket, account: context.accountInput.account },
    actions: actionsOf(context),
    glyphs: glyphsFor(context.env, ascii === true),
    typed: context.typed,
    screen,
    fps,
    first,
  })
  await runDashboard(controller, context.color)
}
