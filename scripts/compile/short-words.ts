/** Shorter identifiers for the largest modules of libraries; of all modules they would break the sign-in library. */
import { fileURLToPath } from 'node:url'
import type { BunPlugin } from 'bun'
import { standIns } from './stand-ins.ts'

const MODULES = fileURLToPath(new URL('../../node_modules/', import.meta.url))

/** Large modules of CommonJS in whole words: each alone bears shorter identifiers. */
const IN_WHOLE_WORDS = [
  'react-reconciler/cjs/react-reconciler.production.js',
  ...[
    'protocols',
    'serde',
    'client',
    'retry',
    'endpoints',
    'event-streams',
    'config',
    'schema',
  ].map((name) => `@smithy/core/dist-cjs/submodules/${name}/index.js`),
  ...['protocols', 'client', 'httpAuthSchemes'].map(
    (name) => `@aws-sdk/core/dist-cjs/submodules/${name}/index.js`,
  ),
  ...['sts', 'sso', 'sso-oidc', 'signin'].map(
    (name) => `@aws-sdk/nested-clients/dist-cjs/submodules/${name}/index.js`,
  ),
  '@smithy/node-http-handler/dist-cjs/index.js',
  '@smithy/signature-v4/dist-cjs/index.js',
].map((file) => `${MODULES}${file}`)

export const shortWords: BunPlugin = {
  name: 'short-words',
  async setup(build) {
    const shortened = new Map<string, string>()
    for (const file of IN_WHOLE_WORDS) {
      // Before the build: one within it would wait for itself.
      const { outputs } = await Bun.build({
        entrypoints: [file],
        minify: true,
        format: 'cjs',
        target: 'bun',
        external: ['*'],
        plugins: [standIns],
      })
      const contents = /^\/\/ @bun @bun-cjs\n\(function\([\w, ]+\) \{(.*)\}\)\s*$/s.exec(
        (await outputs[0]?.text()) ?? '',
      )?.[1]
      if (contents === undefined) throw new Error(`${file} was not made a module of CommonJS`)
      shortened.set(file, contents)
    }
    const names = IN_WHOLE_WORDS.map((file) => RegExp.escape(file)).join('|')
    build.onLoad({ filter: new RegExp(`^(?:${names})$`) }, ({ path }) => ({
      contents: shortened.get(path) ?? '',
      loader: 'js',
    }))
  },
}
