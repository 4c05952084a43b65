/** Responses of the cabinet: pages, redirects, files, each with the headers that keep a page what it is. */

import { pageHeaders } from '#pages/headers.ts'
import type { Html } from '#pages/html.ts'
import type { CabinetDeps } from './deps.ts'
import { REST_PLACE } from './draw/parts.ts'
import { seeOther } from './sign-in.ts'

const SOURCES = [
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
]

export async function pageOf(
  { issuer }: Pick<CabinetDeps, 'issuer'>,
  page: Html,
  { status = 200, language }: { readonly status?: number | undefined; readonly language: string },
): Promise<Response> {
  const headers = pageHeaders({ isHttps: issuer.startsWith('https:'), sources: SOURCES })
  return new Response(String(await page), {
    status,
    headers: { ...headers, 'Content-Language': language },
  })
}

/** The page at once, and the rest of it in its place as soon as it is drawn; `failed` is drawn where that fails. */
export async function streamedPageOf(
  deps: Pick<CabinetDeps, 'issuer'>,
  page: Html,
  rest: () => Promise<Html>,
  { language, failed }: { readonly language: string; readonly failed: (thrown: unknown) => Html },
): Promise<Response> {
  const whole = await pageOf(deps, page, { language })
  const [begin = '', end = ''] = (await whole.text()).split(REST_PLACE)
  const encoder = new TextEncoder()
  const parts = [
    async () => begin,
    async () => String(await rest().catch(failed)),
    async () => end,
  ].values()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value: next } = parts.next()
        if (next === undefined) controller.close()
        else controller.enqueue(encoder.encode(await next()))
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: whole.headers })
}

/** After a form: to a page of the cabinet. */
export const goTo = seeOther

/** A whole navigation, also where htmx asked: what follows is not a part of this page. */
export function leaveFor(request: Request, answer: Response): Response {
  if (request.headers.get('hx-request') !== 'true') return answer
  const headers = new Headers(answer.headers)
  const location = headers.get('location') ?? '/cabinet'
  headers.delete('location')
  headers.set('HX-Redirect', location)
  return new Response(null, { status: 204, headers })
}

/** A file to keep, streamed as it is read. */
export const fileOf = (name: string, body: ReadableStream<Uint8Array> | string): Response =>
  new Response(body, {
    headers: {
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': `attachment; filename="${name}"`,
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    },
  })

/** The most rows of a page. */
const MAX_PAGE = 5_000

type Cell = string | number | null

/** A CSV file of whatever length: `read` answers a page of rows behind one, which is read as the browser takes it. */
export function csvInPages<Column extends string>(
  name: string,
  columns: readonly Column[],
  read: (
    before: string | null,
    limit: number,
  ) => Promise<readonly ({ readonly id: string } & Readonly<Record<Column, Cell>>)[]>,
): Response {
  const encoder = new TextEncoder()
  let before: string | null = null
  let isOver = false
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode(csvLine(columns)))
      },
      async pull(controller) {
        if (isOver) return controller.close()
        const rows = await read(before, MAX_PAGE)
        before = rows.at(-1)?.id ?? null
        isOver = rows.length < MAX_PAGE
        const lines = rows.map((row) => csvLine(columns.map((column) => row[column])))
        if (lines.length > 0) controller.enqueue(encoder.encode(lines.join('')))
        if (isOver) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  return fileOf(name, body)
}

/** A line of a CSV file; a cell that a spreadsheet would run gets an apostrophe in front. */
export const csvLine = (cells: readonly Cell[]): string => `${cells.map(csvCell).join(',')}\r\n`

function csvCell(value: Cell): string {
  if (value === null) return ''
  const text = guard(String(value))
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Negative amounts too: no program has to tell a number from what is only like one. */
const guard = (text: string): string => (/^[=+\-@\p{Cc}]/u.test(text) ? `'${text}` : text)
