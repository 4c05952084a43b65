/** Responses of the cabinet: pages, redirects, files, each with the headers that keep a page what it is. */

import { pause } from '#domain/clock.ts'
import { pageHeaders } from '#pages/headers.ts'
import type { Html } from '#pages/html.ts'
import type { CabinetDeps } from './deps.ts'
import { REST_PLACE, type Sheet } from './draw/parts.ts'

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
  return new Response(String(page), {
    status,
    headers: { ...headers, 'Content-Language': language },
  })
}

/** A rest that takes longer than this has something else in its place until then. */
const SOON_MS = 300

/** The page at once, and the rest of it in its place as soon as it is drawn; `failed` is drawn where that fails. */
export async function streamedPageOf(
  deps: Pick<CabinetDeps, 'issuer'>,
  page: Html,
  { rest, meanwhile }: Required<Pick<Sheet, 'rest'>> & Pick<Sheet, 'meanwhile'>,
  { language, failed }: { readonly language: string; readonly failed: (thrown: unknown) => Html },
): Promise<Response> {
  const whole = await pageOf(deps, page, { language })
  const [begin = '', end = ''] = (await whole.text()).split(REST_PLACE)
  async function* drawn(): AsyncGenerator<string, void> {
    yield begin
    const drawing = rest().catch(failed)
    if (meanwhile !== undefined && (await isLate(drawing))) {
      // The style hides it once something follows.
      const text = String(await meanwhile().catch(() => ''))
      yield `<div class="meanwhile">${text}</div>`
    }
    yield String(await drawing)
    yield end
  }
  return new Response(streamOf(drawn()), { headers: whole.headers })
}

/** Whether it is not there soon. */
async function isLate(drawing: Promise<unknown>): Promise<boolean> {
  const soon = new AbortController()
  const late = pause(SOON_MS, soon.signal).then(() => !soon.signal.aborted)
  const isThere = drawing.then(() => false)
  return await Promise.race([isThere, late]).finally(() => soon.abort())
}

/** Each text as the browser takes it. */
export function streamOf(texts: AsyncGenerator<string, void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await texts.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
      async cancel() {
        await texts.return()
      },
    },
    { highWaterMark: 0 },
  )
}

/** After a form: to a page of the cabinet. */
export const goTo = (location: string): Response =>
  new Response(null, { status: 303, headers: { Location: location, 'Cache-Control': 'no-store' } })

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
  async function* lines(): AsyncGenerator<string, void> {
    yield csvLine(columns)
    for (let before: string | null = null; ; ) {
      const rows = await read(before, MAX_PAGE)
      if (rows.length > 0) {
        yield rows.map((row) => csvLine(columns.map((column) => row[column]))).join('')
      }
      before = rows.at(-1)?.id ?? null
      if (rows.length < MAX_PAGE) return
    }
  }
  return fileOf(name, streamOf(lines()))
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
