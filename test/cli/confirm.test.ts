/** Confirmation at a terminal: the question names the impact, and only yes confirms. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { furnishCli } from '#test/support/appliance.ts'
import { type CliHarness, openCli } from '#test/support/cli-harness.ts'
import { hasTerminals, openTerminal } from '#test/support/terminal.ts'
import { openTerminal as openTmux, TMUX } from '#test/support/tmux.ts'

let cli: CliHarness
beforeAll(() => {
  cli = furnishCli(openCli(), '20')
  for (const name of ['web', 'api']) cli.run(['keys', 'create', name])
  cli.run(['backup', 'one.db'])
})
afterAll(() => cli.close())

const ask = (command: string) => openTerminal(cli, `gatewayctl ${command}`)

describe.skipIf(!hasTerminals)('at a terminal', () => {
  test.each(['n', '', 'yess', 'no'])('"%s" does not confirm', async (answer) => {
    const terminal = ask('keys revoke web')
    await terminal.says(
      'revoke web? no request in the last minute, none in flight. This cannot be undone. [y/N] ',
    )
    terminal.type(`${answer}\n`)
    expect(await terminal.exited).toBe(5)
    expect(terminal.shown()).toContain('error: did not revoke web')
    expect(cli.json(['keys', 'show', 'web'])).toMatchObject({ status: 'active' })
  })

  test.each([
    ['Ctrl-C', '\u0003', 130],
    ['Ctrl-D', '\u0004', 5],
  ])('%s is no yes either, and no defect', async (_, key, code) => {
    for (const [command, question] of [
      ['keys revoke web', '[y/N] '],
      ['init --force', 'type gateway.db to continue: '],
    ] as const) {
      const terminal = ask(command)
      await terminal.says(question)
      terminal.type(key)
      expect(await terminal.exited).toBe(code)
      // On a line of its own, below the question.
      expect(terminal.shown()).toMatch(/\nerror: did not (revoke web|set .* aside)/)
      expect(terminal.shown()).not.toContain('defect')
    }
    expect(cli.json(['keys', 'show', 'web'])).toMatchObject({ status: 'active' })
  })

  test.skipIf(TMUX === null).each([
    ['keys revoke web', '[y/N]', 'did not revoke web'],
    ['providers add acme --base-url http://127.0.0.1:9/v1', '└', 'the credential is empty'],
  ])('Ctrl-Z leaves the question, and `fg` returns to it: %s', async (command, question, said) => {
    const terminal = await openTmux(cli, 200, 24)
    terminal.send(`${cli.binary} ${command}`, 'Enter')
    await terminal.shows(question)
    terminal.send('C-z')
    await terminal.shows('Stopped')
    terminal.send('fg', 'Enter')
    await terminal.shows(/\$ fg\n.+/)
    terminal.send('Enter')
    await terminal.shows(`error: ${said}`)
  })

  test.each([
    ['Ctrl-C', '\u0003', 130],
    ['Ctrl-D', '\u0004', 5],
    ['Escape', '\u001b', 5],
  ])('%s where a credential is asked for', async (_, key, code) => {
    const terminal = ask('providers add acme --base-url http://127.0.0.1:9/v1')
    await terminal.says('└')
    terminal.type(key)
    expect(await terminal.exited).toBe(code)
    expect(terminal.shown()).toContain('error: nothing was entered')
  })

  test('yes confirms', async () => {
    const terminal = ask('keys revoke web api')
    await terminal.says('revoke web, api? ')
    terminal.type('y\n')
    expect(await terminal.exited).toBe(0)
    expect(cli.json(['keys'])).toHaveLength(1)
  })

  test.each([
    [
      'models remove demo/flaky',
      'remove model demo/flaky? no request in the last minute; further requests are refused',
    ],
    [
      'models price demo/flaky --clear',
      'remove the price of demo/flaky? no request in the last minute',
    ],
    [
      'providers remove demo',
      'remove provider demo and its 4 models? no request in the last minute',
    ],
    [
      'keys rotate default --grace 0',
      'rotate default without grace? no request in the last minute, none in flight',
    ],
    [
      'balance adjust -5 --note typo',
      'subtract $5 from the balance of default, now $20.00? This cannot be undone.',
    ],
  ])('%s', async (command, question) => {
    const terminal = ask(command)
    await terminal.says(question)
    terminal.type('n\n')
    expect(await terminal.exited).toBe(5)
  })

  test('output fits the terminal: status wraps, and no list is only a header', async () => {
    const status = openTerminal(cli, 'stty cols 50; gatewayctl status')
    await status.exited
    // Where the temporary directories have long names, that one word is longer than a line.
    const lines = status.shown().replace(cli.dataDir, '').trimEnd().split('\r\n')
    expect(lines.filter((line) => Bun.stringWidth(line) > 50)).toEqual([])
    expect(status.shown()).toMatch(/^money {6}balance .*·\r\n {11}\S/m)
    const list = openTerminal(cli, 'stty cols 100; gatewayctl deliveries; gatewayctl accounts')
    await list.exited
    expect(list.shown()).toMatch(/^nothing to list\r\nNAME /)
    expect(list.shown()).toMatch(/ (\d+[sm] ago|now)\r\n$/)
    expect(cli.run(['deliveries'])).toEqual({ code: 0, out: '', err: '' })
  })

  test('overwriting needs the name to be typed', async () => {
    const first = ask('backup --restore one.db')
    await first.says('type gateway.db to continue: ')
    first.type('y\n')
    expect(await first.exited).toBe(5)
    const second = ask('backup --restore one.db')
    await second.says('type gateway.db to continue: ')
    second.type('gateway.db\n')
    expect(await second.exited).toBe(0)
    expect(second.shown()).toContain('audit clean: 1 entry')
    expect(existsSync(join(cli.dataDir, 'gateway.db'))).toBe(true)
  })
})
