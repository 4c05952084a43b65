/** A port that was free a moment ago, for programs that cannot choose one and say which. */
export function freePort(): number {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const { port } = server
  void server.stop(true)
  if (port === undefined) throw new Error('no port was given')
  return port
}
