/** A vendor's API of bills on a real socket: pages of seven days, a key of its own, and a limit of requests at first. */

export interface VendorServer {
  /** The base URL of the provider. */
  readonly url: string
  /** What was asked, in order: path and query. */
  readonly asked: string[]
  close(): void
}

type Bucket = Readonly<Record<string, unknown>>

export interface VendorServerOptions {
  readonly key: string
  /** By path after the base URL. */
  readonly reports: Readonly<Record<string, readonly Bucket[]>>
  /** In milliseconds; of OpenAI's reports in seconds. */
  startOf(bucket: Bucket): number
  /** How many requests are told to come again later. */
  readonly limited?: number
}

const PAGE_DAYS = 7

export function openVendor({
  key,
  reports,
  startOf,
  limited = 0,
}: VendorServerOptions): VendorServer {
  const asked: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const url = new URL(request.url)
      asked.push(url.pathname + url.search)
      const { headers } = request
      if (headers.get('x-api-key') !== key && headers.get('authorization') !== `Bearer ${key}`) {
        const error = { type: 'authentication_error', message: `not a key for this: ${key}` }
        return Response.json({ type: 'error', error }, { status: 401 })
      }
      if (asked.length <= limited) {
        return Response.json(
          { error: { message: 'slow down' } },
          { status: 429, headers: { 'retry-after': '1' } },
        )
      }
      const buckets = reports[url.pathname.replace(/^\/v1/, '')]
      if (buckets === undefined)
        return Response.json({ data: [], has_more: false, next_page: null })
      const { searchParams } = url
      const time = (name: string, other: string): number => {
        const text = searchParams.get(name)
        return text === null ? Number(searchParams.get(other)) * 1_000 : Date.parse(text)
      }
      const [from, to] = [time('starting_at', 'start_time'), time('ending_at', 'end_time')]
      const within = buckets.filter((bucket) => startOf(bucket) >= from && startOf(bucket) < to)
      const first = Number(searchParams.get('page')?.slice('page_'.length) ?? 0)
      const more = first + PAGE_DAYS < within.length
      return Response.json({
        object: 'page',
        data: within.slice(first, first + PAGE_DAYS),
        has_more: more,
        next_page: more ? `page_${first + PAGE_DAYS}` : null,
      })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    asked,
    close: () => void server.stop(true),
  }
}
