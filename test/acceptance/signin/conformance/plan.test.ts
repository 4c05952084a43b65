// Every module of the plans has exactly one test, and its title begins with the module's name.
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { BACKCHANNEL_OP, BASIC_OP, CONFIG_OP, LOGOUT_OP } from './plan.ts'

const HERE = new URL('./', import.meta.url)

test('every module has one test, and no test names an unknown module', () => {
  const files = readdirSync(HERE).filter((name) => name.endsWith('.ts'))
  const titles = files.flatMap((name) => [
    ...readFileSync(new URL(name, HERE), 'utf8').matchAll(
      /^ *(?:test|\[)\(?\s*['"](oidcc-[\w-]+)/gm,
    ),
  ])
  expect(titles.map(([, module]) => module).toSorted()).toEqual(
    [...BASIC_OP, ...CONFIG_OP, ...LOGOUT_OP, ...BACKCHANNEL_OP].toSorted(),
  )
})
