/**
 * Libraries: each is tried by a program of ours in `programs/`, which plays the turn twice: whole, and streamed. What docs/clients.md
 * prints of those that no test runs is run too: a single answer, without tools.
 */
import { cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Client, Command, Place, Surface } from './client.ts'
import { type Kit, npm, pip } from './kits.ts'
import { printed } from './page.ts'
import { OUR_CALLS } from './turn.ts'

export const PROGRAMS = fileURLToPath(new URL('programs', import.meta.url))

const ANTHROPIC_PY = pip('anthropic==2.12.0')
const AGENTS_JS = npm('@openai/agents@0.20.0', 'zod@4.6.7')
const AGENTS_PY = pip('openai-agents==0.24.0')
const AI_SDK = npm(
  'ai@7.0.173',
  '@ai-sdk/openai@4.0.118',
  '@ai-sdk/anthropic@4.0.105',
  '@ai-sdk/openai-compatible@3.0.92',
)
const LANGCHAIN_JS = npm(
  '@langchain/core@1.4.0',
  '@langchain/openai@1.6.0',
  '@langchain/anthropic@1.5.11',
)
const LANGCHAIN_PY = pip('langchain-openai==1.7.3', 'langchain-anthropic==1.7.7')
const LLAMAINDEX = pip('llama-index-llms-openai==0.8.3', 'llama-index-llms-openai-like==0.8.1')
/** It breaks on the types of Anthropic's SDK 2. */
const LLAMAINDEX_ANTHROPIC = pip('llama-index-llms-anthropic==0.12.3', 'anthropic==0.125.0')

export const LIBRARIES: readonly Client[] = [
  ...['openai@7.57.0', 'openai@6.49.0'].flatMap((version) => [
    library(`${version} chat`, npm(version), 'openai-chat.mjs', 'chat'),
    library(`${version} responses`, npm(version), 'openai-responses.mjs', 'responses'),
  ]),
  ...['openai==3.54.0', 'openai==2.54.0'].flatMap((version) => [
    library(`${version} chat`, pip(version), 'openai_chat.py', 'chat'),
    library(`${version} responses`, pip(version), 'openai_responses.py', 'responses'),
  ]),
  ...['1.12.0', '0.137.0'].map((version) =>
    library(
      `anthropic@${version}`,
      npm(`@anthropic-ai/sdk@${version}`),
      'anthropic.mjs',
      'messages',
    ),
  ),
  library('anthropic==2.12.0', ANTHROPIC_PY, 'anthropic_messages.py', 'messages'),
  library('anthropic==0.125.0', pip('anthropic==0.125.0'), 'anthropic_messages.py', 'messages'),
  asPrinted('anthropic', ANTHROPIC_PY, 'messages', 'client = anthropic.Anthropic()'),
  library('agents.js', AGENTS_JS, 'openai-agents.mjs', 'responses'),
  asPrinted('agents.js', AGENTS_JS, 'responses', "from '@openai/agents'"),
  library('agents.py', AGENTS_PY, 'openai_agents.py', 'responses'),
  asPrinted('agents.py', AGENTS_PY, 'responses', 'from agents import'),
  library('ai-sdk openai-compatible', AI_SDK, 'ai-sdk.mjs', 'chat', 'openai-compatible'),
  library('ai-sdk openai', AI_SDK, 'ai-sdk.mjs', 'responses', 'openai'),
  library('ai-sdk anthropic', AI_SDK, 'ai-sdk.mjs', 'messages', 'anthropic'),
  asPrinted('ai-sdk', AI_SDK, 'messages', 'createAnthropic'),
  library('langchain.js chat', LANGCHAIN_JS, 'langchain.mjs', 'chat', 'chat'),
  library('langchain.js responses', LANGCHAIN_JS, 'langchain.mjs', 'responses', 'responses'),
  library('langchain.js anthropic', LANGCHAIN_JS, 'langchain.mjs', 'messages', 'anthropic'),
  library('langchain.py chat', LANGCHAIN_PY, 'langchain_tools.py', 'chat', 'chat'),
  library('langchain.py responses', LANGCHAIN_PY, 'langchain_tools.py', 'responses', 'responses'),
  library('langchain.py anthropic', LANGCHAIN_PY, 'langchain_tools.py', 'messages', 'anthropic'),
  library('llamaindex chat', LLAMAINDEX, 'llamaindex.py', 'chat', 'chat'),
  library('llamaindex anthropic', LLAMAINDEX_ANTHROPIC, 'llamaindex.py', 'messages', 'anthropic'),
  asPrinted('llamaindex', LLAMAINDEX, 'chat', 'OpenAILike'),
]

function library(name: string, kit: Kit, program: string, surface: Surface, provider = ''): Client {
  return {
    name,
    kit,
    surface,
    calls: OUR_CALLS,
    turns: 2,
    command(at) {
      cpSync(PROGRAMS, at.home, { recursive: true })
      return run(at, kit, program, { PROVIDER: provider })
    },
  }
}

/** The one block of the page that has this in it. */
function asPrinted(name: string, kit: Kit, surface: Surface, part: string): Client {
  return {
    name: `${name} as printed`,
    kit,
    surface,
    calls: [],
    command(at) {
      const program = kit.registry === 'npm' ? 'printed.mjs' : 'printed.py'
      writeFileSync(join(at.home, program), printed(part, at))
      return run(at, kit, program)
    },
  }
}

function run(at: Place, kit: Kit, program: string, more: Command['env'] = {}): Command {
  const isPython = kit.registry === 'pip'
  if (!isPython) symlinkSync(join(at.kit, 'node_modules'), join(at.home, 'node_modules'))
  return {
    argv: [isPython ? join(at.kit, 'bin', 'python') : 'node', program],
    env: {
      OPENAI_BASE_URL: `${at.url}/v1`,
      OPENAI_API_KEY: at.key,
      ANTHROPIC_BASE_URL: at.url,
      ANTHROPIC_API_KEY: at.key,
      MODEL: at.model,
      ALIAS: at.alias,
      ...more,
    },
  }
}
