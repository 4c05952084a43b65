// Writes docs/cli-json: `bun scripts/cli-json.ts`. A test holds the files to the types, and what commands print to the files.
import { mkdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { fileNameOf, renderSchemas } from './cli-json/render.ts'

const DIRECTORY = fileURLToPath(new URL('../docs/cli-json', import.meta.url))

const schemas = await renderSchemas()
rmSync(DIRECTORY, { recursive: true, force: true })
mkdirSync(DIRECTORY, { recursive: true })
for (const [command, schema] of schemas) {
  await Bun.write(`${DIRECTORY}/${fileNameOf(command)}`, `${JSON.stringify(schema, null, 2)}\n`)
}
process.stderr.write(`wrote ${schemas.size} schemas\n`)
Bun.spawnSync(['node_modules/.bin/biome', 'format', '--write', DIRECTORY], {
  cwd: fileURLToPath(new URL('..', import.meta.url)),
})
