// The import directions of the gateway are law: each crossing below is tried on a copy of the gateway,
// and the linter must refuse it, or let it pass, exactly as listed.
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const FORBIDDEN = [
  ['server/domain/money.ts', 'hono'],
  ['server/domain/money.ts', 'zod'],
  ['server/domain/money.ts', 'drizzle-orm'],
  ['server/domain/money.ts', 'drizzle-orm/bun-sqlite'],
  ['server/domain/money.ts', 'bun'],
  ['server/domain/money.ts', 'bun:sqlite'],
  ['server/domain/money.ts', 'node:crypto'],
  ['server/domain/money.ts', 'crypto'],
  ['server/domain/money.ts', '#http/app.ts'],
  ['server/domain/money.ts', '#db/index.ts'],
  ['server/domain/money.ts', '../gateway.ts'],
  ['server/http/app.ts', '#upstream/registry.ts'],
  ['server/http/app.ts', '#signin/provider.ts'],
  ['server/http/app.ts', '#notify/courier.ts'],
  ['server/http/app.ts', '#operator/app.ts'],
  ['server/http/app.ts', '#server/gateway.ts'],
  ['server/http/app.ts', '#db/index.ts'],
  ['server/http/app.ts', '#cli/settings/config.ts'],
  ['server/http/app.ts', 'drizzle-orm'],
  ['server/http/app.ts', 'bun:sqlite'],
  ['server/http/app.ts', '../domain/money.ts'],
  ['server/http/routes/models.ts', '../../domain/money.ts'],
  ['server/http/routes/models.ts', '../../upstream/registry.ts'],
  ['server/http/routes/models.ts', './../../gateway.ts'],
  ['server/upstream/openai/to-request.ts', '#http/app.ts'],
  ['server/upstream/openai/to-request.ts', '#db/index.ts'],
  ['server/upstream/openai/to-request.ts', '../../http/app.ts'],
  ['server/outbound/fetch-untrusted.ts', '#upstream/registry.ts'],
  ['server/outbound/fetch-untrusted.ts', '#notify/courier.ts'],
  ['server/outbound/fetch-untrusted.ts', '#db/index.ts'],
  ['server/outbound/fetch-untrusted.ts', 'hono'],
  ['server/outbound/fetch-untrusted.ts', '../domain/money.ts'],
  ['server/domain/money.ts', '#runtime/short-lived.ts'],
  ['server/runtime/short-lived.ts', '#domain/clock.ts'],
  ['server/runtime/short-lived.ts', 'node:fs'],
  ['server/signin/provider.ts', '#runtime/short-lived.ts'],
  ['server/http/app.ts', '#outbound/reach.ts'],
  ['server/operator/app.ts', '#outbound/reach.ts'],
  ['server/domain/money.ts', '#outbound/reach.ts'],
  ['server/signin/provider.ts', '#http/app.ts'],
  ['server/signin/provider.ts', '#notify/courier.ts'],
  ['server/signin/provider.ts', '#db/index.ts'],
  ['server/signin/provider.ts', '#operator/verb.ts'],
  ['server/cabinet/app.ts', '#signin/provider.ts'],
  ['server/cabinet/app.ts', '#signin/pages/render.ts'],
  ['server/cabinet/app.ts', '#http/app.ts'],
  ['server/cabinet/app.ts', '#db/index.ts'],
  ['server/cabinet/app.ts', 'bun:sqlite'],
  ['server/cabinet/app.ts', '#server/gateway.ts'],
  ['server/signin/provider.ts', '#cabinet/app.ts'],
  ['server/operator/app.ts', '#cabinet/app.ts'],
  ['server/pages/language.ts', '#signin/provider.ts'],
  ['server/pages/language.ts', '#operator/verb.ts'],
  ['server/operator/app.ts', '#pages/language.ts'],
  ['server/http/app.ts', '#pages/language.ts'],
  ['server/notify/courier.ts', '#signin/provider.ts'],
  ['server/notify/courier.ts', '#upstream/registry.ts'],
  ['server/notify/courier.ts', '#cli/settings/config.ts'],
  ['server/telemetry/collect-metrics.ts', '#http/app.ts'],
  ['server/telemetry/collect-metrics.ts', '#operator/app.ts'],
  ['server/telemetry/collect-metrics.ts', '#db/index.ts'],
  ['server/telemetry/collect-metrics.ts', 'bun:sqlite'],
  ['server/http/app.ts', '#telemetry/tally.ts'],
  ['server/operator/app.ts', '#http/app.ts'],
  ['server/operator/app.ts', '#db/index.ts'],
  ['server/forms/fields.ts', '#http/app.ts'],
  ['server/forms/fields.ts', '#operator/verb.ts'],
  ['server/forms/fields.ts', '#db/index.ts'],
  ['server/forms/fields.ts', 'hono'],
  ['server/forms/fields.ts', 'node:fs'],
  ['server/forms/fields.ts', 'bun:sqlite'],
  ['server/forms/fields.ts', '../domain/money.ts'],
  ['server/upstream/openai/to-request.ts', '#forms/fields.ts'],
  ['server/domain/money.ts', '#forms/fields.ts'],
  ['db/index.ts', '#forms/fields.ts'],
  ['server/gateway.ts', '#db/index.ts'],
  ['server/gateway.ts', '#cli/main.ts'],
  ['server/gateway.ts', './http/app.ts'],
  ['server/gateway.ts', '../db/index.ts'],
  ['server/gateway.ts', 'ink'],
  ['db/index.ts', '#http/app.ts'],
  ['db/index.ts', '#upstream/registry.ts'],
  ['db/index.ts', '#operator/app.ts'],
  ['db/index.ts', '#signin/provider.ts'],
  ['server/operator/app.ts', '#signin/provider.ts'],
  ['server/http/app.ts', '#signin/register/client.ts'],
  ['server/domain/money.ts', '#signin/store.ts'],
  ['db/index.ts', '#cli/main.ts'],
  ['db/index.ts', 'hono'],
  ['db/sqlite/store.ts', '../../server/domain/store.ts'],
  ['db/sqlite/store.ts', '../postgres/engine/errors.ts'],
  ['db/postgres/store.ts', '../sqlite/store.ts'],
  ['db/postgres/log/acts.ts', '../../sqlite/log/acts.ts'],
  ['db/postgres/log/acts.ts', '#db/sqlite/log/acts.ts'],
  ['db/rows/key-row.ts', '../sqlite/log/acts.ts'],
  ['db/rows/key-row.ts', '../postgres/log/acts.ts'],
  ['db/log/acts.ts', '../sqlite/engine/engine.ts'],
  ['db/signin/people.ts', '../postgres/engine/engine.ts'],
  ['db/keys/keys.ts', '../sqlite/keys/keys.ts'],
  ['db/money/accounts.ts', '../postgres/money/accounts.ts'],
  ['db/statements.ts', './sqlite/engine/engine.ts'],
  ['cli/main.ts', '#test/support/fake-upstream.ts'],
  ['cli/keys/create.ts', '../../db/index.ts'],
  ['test/http/app.test.ts', '../../server/http/app.ts'],
] as const

const ALLOWED = [
  ['server/domain/ledger.ts', './money.ts'],
  ['server/domain/ledger.ts', '#domain/money.ts'],
  ['server/http/app.ts', '#domain/money.ts'],
  ['server/http/app.ts', 'hono'],
  ['server/http/app.ts', '#runtime/short-lived.ts'],
  ['server/runtime/open-files.ts', './short-lived.ts'],
  ['db/sqlite/store.ts', '#runtime/short-lived.ts'],
  ['server/http/routes/models.ts', '../render-error.ts'],
  ['server/upstream/openai/to-request.ts', '#domain/chat.ts'],
  ['server/upstream/openai/to-request.ts', '../sse.ts'],
  ['server/signin/provider.ts', '#domain/clock.ts'],
  ['server/signin/provider.ts', '#pages/language.ts'],
  ['server/cabinet/app.ts', '#operator/as-person.ts'],
  ['server/cabinet/app.ts', '#pages/html.ts'],
  ['server/cabinet/app.ts', '#signin/register/person.ts'],
  ['server/cabinet/app.ts', '#forms/fields.ts'],
  ['server/gateway.ts', '#cabinet/app.ts'],
  ['server/pages/language.ts', '#domain/language.ts'],
  ['server/upstream/guarded-fetch/fetch-image.ts', '#outbound/policy.ts'],
  ['server/outbound/retry-after.ts', '#domain/clock.ts'],
  ['server/outbound/policy.ts', 'node:dns/promises'],
  ['server/notify/courier.ts', '#domain/notice.ts'],
  ['server/notify/webhook.ts', '#outbound/reach.ts'],
  ['server/telemetry/collect-metrics.ts', '#domain/key.ts'],
  ['server/operator/app.ts', '#domain/key.ts'],
  ['server/operator/keys.ts', '#forms/fields.ts'],
  ['server/http/routes/keys.ts', '#forms/fields.ts'],
  ['server/forms/fields.ts', '#domain/money.ts'],
  ['server/forms/fields.ts', 'zod/mini'],
  ['server/gateway.ts', '#http/app.ts'],
  ['server/gateway.ts', './sweeper.ts'],
  ['db/sqlite/store.ts', '#domain/store.ts'],
  ['db/sqlite/store.ts', '#signin/store.ts'],
  ['db/sqlite/keys/keys.ts', '../../rows/key-row.ts'],
  ['db/postgres/log/acts.ts', '../../log/acts.ts'],
  ['db/signin/people.ts', '../statements.ts'],
  ['db/index.ts', './sqlite/store.ts'],
  ['db/sqlite/store.ts', '#signin/register/person.ts'],
  ['server/operator/clients.ts', '#signin/store.ts'],
  ['server/operator/clients.ts', '#signin/register/client.ts'],
  ['db/sqlite/store.ts', 'drizzle-orm/bun-sqlite'],
  ['cli/serve.ts', '#server/gateway.ts'],
  ['cli/serve.ts', '#db/index.ts'],
  ['cli/keys/create.ts', '../output.ts'],
  ['test/http/app.test.ts', '#http/app.ts'],
] as const

const IMPORT_LAWS = ['lint/style/noRestrictedImports', 'plugin']
let deps: string
/** Line by line, what the linter said of each file of the copied gateway. */
let findings: readonly Finding[]

type Finding = { readonly path: string; readonly line: number; readonly law: string }
type Crossing = readonly [file: string, specifier: string]

/** One file of the gateway may try many imports; each has its own line, as a lazy import. */
const trials = new Map<string, string[]>()
for (const [file, specifier] of [...FORBIDDEN, ...ALLOWED]) {
  trials.set(file, [...(trials.get(file) ?? []), specifier])
}

beforeAll(() => {
  deps = realpathSync(mkdtempSync(join(tmpdir(), 'house-')))
  cpSync('.biome.json', join(deps, '.biome.json'))
  cpSync('scripts/lint', join(deps, 'scripts/lint'), { recursive: true })
  for (const [file, specifiers] of trials) {
    const lines = specifiers.map((specifier, n) => `export { a${n} } from '${specifier}'`)
    build(file, lines)
    build(
      lazy(file),
      specifiers.map((specifier, n) => `export const a${n} = import('${specifier}')`),
    )
  }
  build('server/http/cycle-a.ts', ["import { b } from './cycle-b.ts'", 'export const a = () => b'])
  build('server/http/cycle-b.ts', ["import { a } from './cycle-a.ts'", 'export const b = () => a'])
  build('server/http/type-a.ts', [
    "import type { B } from './type-b.ts'",
    'export interface A { readonly b: B }',
  ])
  build('server/http/type-b.ts', [
    "import type { A } from './type-a.ts'",
    'export interface B { readonly a: A }',
  ])
  build('server/http/today.ts', ['export const today = () => new Date()'])
  build('server/domain/clock.ts', ['export const now = () => new Date()'])
  build('server/http/unkind.ts', ['export default 1', 'process.exit(1)', 'export const a: any = 1'])
  build('server/http/CamelCase.ts', ['export const a = 1'])
  findings = lint(deps)
})

afterAll(() => rmSync(deps, { recursive: true, force: true }))

test.each(FORBIDDEN)('%s must not import %s', (...crossing) => {
  expect(broken(crossing)).toEqual({ written: true, lazily: true })
})

test.each(ALLOWED)('%s may import %s', (...crossing) => {
  expect(broken(crossing)).toEqual({ written: false, lazily: false })
})

test.each([
  ['server/http/cycle-a.ts', 'lint/suspicious/noImportCycles'],
  ['server/http/type-a.ts', 'lint/suspicious/noImportCycles'],
  ['server/http/today.ts', 'lint/style/noRestrictedGlobals'],
  ['server/http/unkind.ts', 'lint/style/noDefaultExport'],
  ['server/http/unkind.ts', 'lint/nursery/noProcessExit'],
  ['server/http/unkind.ts', 'lint/suspicious/noExplicitAny'],
  ['server/http/CamelCase.ts', 'lint/style/useFilenamingConvention'],
])('%s breaks %s', (path, law) => {
  expect(
    findings.filter((finding) => finding.path === path).map((finding) => finding.law),
  ).toContain(law)
})

test('the clock alone may read the time', () => {
  expect(findings.filter(({ path }) => path === 'server/domain/clock.ts')).toEqual([])
})

function broken([file, specifier]: Crossing) {
  const line = (trials.get(file) ?? []).indexOf(specifier) + 1
  const refused = (path: string) =>
    findings.some((f) => f.path === path && f.line === line && IMPORT_LAWS.includes(f.law))
  return { written: refused(file), lazily: refused(lazy(file)) }
}

function lazy(file: string): string {
  return file.replace(/(\.test)?\.ts$/, '-lazily$1.ts')
}

function build(file: string, lines: readonly string[]): void {
  mkdirSync(dirname(join(deps, file)), { recursive: true })
  writeFileSync(join(deps, file), `${lines.join('\n')}\n`)
}

function lint(root: string): readonly Finding[] {
  const biome = join(process.cwd(), 'node_modules/.bin/biome')
  const flags = ['--reporter=github', '--max-diagnostics=none', '--vcs-enabled=false']
  const { stdout } = Bun.spawnSync([biome, 'lint', ...flags, '.'], { cwd: root })
  const findings = stdout.toString().matchAll(/^::\w+ title=([\w/]+),file=([^,]+),line=(\d+)/gm)
  return [...findings].map(([, law = '', path = '', line]) => ({
    path: relative(root, path),
    line: Number(line),
    law,
  }))
}
