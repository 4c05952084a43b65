/** Programs that people start: coding agents, which bring tools of their own. Each is set up as docs/clients.md says. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client, Command, Place } from './client.ts'
import { npm, pip } from './kits.ts'
import { printed } from './page.ts'
import { PROGRAMS } from './programs.ts'
import { OUR_CALLS } from './turn.ts'

const TASK = 'Carry out both commands, and say what they print.'

/** Each prints what does not stand in it, and the first takes longer. */
const FIRST = { command: 'sleep 0.3; echo first-$((40 + 1))', result: 'first-41' }
const SECOND = { command: 'echo second-$((40 + 2))', result: 'second-42' }

const OF_PLATFORM = `${process.platform}-${process.arch}`

const CLAUDE_CODE = npm('@anthropic-ai/claude-code@2.1.330')

export const AGENTS: readonly Client[] = [
  {
    name: 'claude-code',
    kit: CLAUDE_CODE,
    surface: 'messages',
    calls: [FIRST, SECOND].map(({ command, result }) => ({
      tool: 'Bash',
      args: { command, description: 'prints a word' },
      result,
    })),
    command: (at) => claudeCode(at, TASK),
  },
  {
    name: 'claude-code /context',
    kit: CLAUDE_CODE,
    surface: 'messages',
    calls: [],
    free: true,
    command: (at) => claudeCode(at, '/context'),
  },
  {
    name: 'codex',
    kit: npm('@openai/codex@0.169.0'),
    surface: 'responses',
    calls: [FIRST, SECOND].map(({ command, result }) => ({
      tool: 'exec_command',
      args: { cmd: command },
      result,
    })),
    command: codex,
  },
  ...(
    [
      ['opencode openai-compatible', 'chat', '@ai-sdk/openai-compatible'],
      ['opencode openai', 'responses', '@ai-sdk/openai'],
      ['opencode anthropic', 'messages', '@ai-sdk/anthropic'],
    ] as const
  ).map(
    ([name, surface, library]): Client => ({
      name,
      kit: npm('opencode-ai@1.18.33'),
      surface,
      calls: [FIRST, SECOND].map(({ command, result }) => ({
        tool: 'bash',
        args: { command, description: 'prints a word' },
        result,
      })),
      command: (at) => opencode(at, library),
    }),
  ),
  {
    name: 'aider',
    kit: pip('aider-chat==0.86.2'),
    surface: 'chat',
    calls: [],
    command: aider,
  },
  {
    name: 'open-webui',
    kit: pip('open-webui==0.12.4'),
    surface: 'chat',
    calls: OUR_CALLS,
    turns: 2,
    isLarge: true,
    command: openWebUi,
  },
]

function claudeCode(at: Place, prompt: string): Command {
  const wrapper = join(at.kit, 'node_modules', '@anthropic-ai', 'claude-code', 'cli-wrapper.cjs')
  const once = ['--print', '--allowedTools', 'Bash', '--', prompt]
  return typed(
    at,
    { block: 'ANTHROPIC_AUTH_TOKEN=', program: 'claude', is: ['node', wrapper] },
    once,
    {
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
  )
}

function codex({ home, kit, url, key, model }: Place): Command {
  mkdirSync(join(home, '.codex'))
  const settings = printed('[model_providers.gateway]', { url, model })
  writeFileSync(join(home, '.codex', 'config.toml'), settings)
  const free = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox']
  return {
    argv: ['node', join(kit, 'node_modules', '.bin', 'codex'), 'exec', ...free, TASK],
    env: { OPENAI_API_KEY: key },
  }
}

function opencode({ home, kit, url, key, model }: Place, library: string): Command {
  const settings = printed('opencode.ai/config.json', { url, model })
  writeFileSync(
    join(home, 'opencode.json'),
    settings.replaceAll('@ai-sdk/openai-compatible', library),
  )
  const program = join(kit, 'node_modules', `opencode-${OF_PLATFORM}`, 'bin', 'opencode')
  return {
    argv: [program, 'run', '--model', `gateway/${model}`, TASK],
    env: {
      OPENAI_API_KEY: key,
      // Nothing is fetched from elsewhere.
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_PURE: '1',
    },
  }
}

function aider(at: Place): Command {
  const quiet = ['--no-git', '--no-check-update', '--analytics-disable', '--no-show-model-warnings']
  const once = ['--yes-always', '--no-pretty', '--message', TASK]
  const program = join(at.kit, 'bin', 'aider')
  return typed(
    at,
    { block: 'OPENAI_API_BASE=', program: 'aider', is: [program] },
    [...quiet, ...once],
    {
      // The list of prices that it asks the internet for.
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    },
  )
}

/** A program of ours starts it, signs in, and plays the turn through its own API. */
function openWebUi(at: Place): Command {
  cpSync(PROGRAMS, at.home, { recursive: true })
  const bin = join(at.kit, 'bin')
  return {
    argv: [join(bin, 'python'), 'open_webui.py', printed('open-webui serve', at)],
    env: { PATH: `${bin}:${process.env['PATH']}`, OPENAI_API_KEY: at.key, MODEL: at.model },
  }
}

/** A block of the page in a shell, with more arguments for the program on its last line. */
function typed(
  { home, url, key, model }: Place,
  { block, program, is }: { block: string; program: string; is: readonly string[] },
  more: readonly string[],
  env: Command['env'],
): Command {
  const bin = join(home, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, program), `#!/bin/sh\nexec ${is.join(' ')} "$@"\n`, { mode: 0o755 })
  const script = `${printed(block, { url, model }).trimEnd()} "$@"`
  return {
    argv: ['bash', '-euc', script, 'bash', ...more],
    env: { PATH: `${bin}:${process.env['PATH']}`, OPENAI_API_KEY: key, ...env },
  }
}
