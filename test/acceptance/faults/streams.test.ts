/** `serve` exits or serves, whatever its standard streams are: closed, on a full disk, broken, or pipes that nobody reads. */
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { BINARY } from '#scripts/compile.ts'
import { furnishCli, until } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { freePort } from '#test/support/free-port.ts'
import { FULL } from '#test/support/tier.ts'
import { HELLO } from './provider.ts'

/** What can be wrong with a stream. Where nobody reads a pipe, it is full before the start. */
const KINDS = ['closed', 'full', 'broken', 'jammed'] as const
type Kind = (typeof KINDS)[number] | 'null'
const STREAMS = ['standard input', 'standard output', 'standard error'] as const

/** Prepares descriptors 0 to 2 as its first argument names them, and becomes the command that follows. */
const UNDER = `
  use Fcntl; use POSIX (); $^F = 255;
  my $fd = 0;
  for my $kind (split ",", shift @ARGV) {
    if ($kind eq "closed") { POSIX::close($fd) }
    elsif ($kind eq "broken" || $kind eq "jammed") {
      pipe(my $r, my $w);
      my ($ours, $other) = $fd == 0 ? ($r, $w) : ($w, $r);
      if ($kind eq "broken") { close $other } else { push @kept, $other }
      if ($kind eq "jammed" && $fd > 0) {
        fcntl($w, F_SETFL, O_WRONLY | O_NONBLOCK);
        while (defined syswrite($w, "x" x 4096)) {}
        fcntl($w, F_SETFL, O_WRONLY);
      }
      POSIX::dup2(fileno($ours), $fd); push @kept, $ours;
    } else { my $file = POSIX::open("/dev/$kind", POSIX::O_RDWR()); POSIX::dup2($file, $fd) if $file != $fd }
    $fd++;
  }
  exec @ARGV`

let cli: CliHarness
let key: string
let serving: Bun.Subprocess | undefined

beforeAll(() => {
  cli = furnishCli(openCli())
  key = cli.run(['keys', 'create', 'worker', '-q']).out.trim()
  return () => cli.close()
})

afterEach(async () => {
  serving?.kill('SIGKILL')
  await serving?.exited
})

function serve(streams: readonly Kind[], flags: readonly string[]): Bun.Subprocess {
  serving = Bun.spawn(['perl', '-e', UNDER, streams.join(), BINARY, 'serve', ...flags], {
    cwd: cli.home,
    env: cli.env,
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  return serving
}

async function expectService(streams: readonly Kind[], format: string): Promise<void> {
  const port = freePort()
  const gateway = serve(streams, [
    '--listen',
    `127.0.0.1:${port}`,
    '--auth-listen',
    'off',
    '--log',
    format,
  ])
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, init)
  await until(async () => (await ask('/readyz')).ok, 'it is ready')
  const answer = await ask('/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...HELLO, model: 'demo/echo' }),
  })
  expect(answer.status).toBe(200)
  // More lines than a pipe holds.
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 20 }, async () => (await ask('/v1/models')).text()))
  }
  expect((await ask('/readyz')).status).toBe(200)
  gateway.kill('SIGTERM')
  expect(await gateway.exited).toBe(0)
}

const withOne = (kind: Kind, fd: number): Kind[] =>
  STREAMS.map((_, each) => (each === fd ? kind : 'null'))

describe.each(KINDS)('%s', (kind) => {
  test.runIf(FULL).each(STREAMS.map((name, fd) => [name, fd] as const))(
    '%s alone',
    async (_, fd) => {
      await expectService(withOne(kind, fd), 'json')
    },
  )
  test.each(FULL ? ['json', 'pretty'] : ['json'])('all three, with lines in %s', async (format) => {
    await expectService([kind, kind, kind], format)
  })
  test('a start that fails ends all the same', async () => {
    const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
    const listen = `127.0.0.1:${taken.port}`
    const gateway = serve([kind, kind, kind], ['--listen', listen, '--auth-listen', 'off'])
    expect(await gateway.exited).toBe(1)
    await taken.stop(true)
  })
})
