// Regenerates the tables of docs/api.md: `bun scripts/api-doc.ts`. A test checks that the page is up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { renderDocument } from '#http/openapi/document.ts'
import { fillTables } from './api-doc/tables.ts'

const PAGE = fileURLToPath(new URL('../docs/api.md', import.meta.url))

const document = JSON.parse(JSON.stringify(renderDocument('')))
writeFileSync(PAGE, fillTables(readFileSync(PAGE, 'utf8'), document))
