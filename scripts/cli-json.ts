// Prints the JSON Schema of what every command prints under --json, by command: `bun scripts/cli-json.ts`. A release has it.
import { renderSchemas } from './cli-json/render.ts'

const schemas = await renderSchemas()
process.stdout.write(`${JSON.stringify(Object.fromEntries(schemas), null, 2)}\n`)
