/** A port whose module is loaded at its first call, because a short command needs only one of many ports. */

/** Names every method of a port; a missing one does not compile. */
type Methods<Port> = Readonly<Record<keyof Port, true>>

type AsyncPort<Port> = {
  readonly [Name in keyof Port]: (...args: never[]) => Promise<unknown>
}

/** The first call loads the port and replaces the methods by the port's own, so that later calls have no overhead. */
export function lazyPort<Port extends AsyncPort<Port>>(
  methods: Methods<Port>,
  load: () => Promise<Port>,
): Port {
  let loading: Promise<Port> | null = null
  const port = {} as Record<keyof Port, (...args: never[]) => Promise<unknown>>
  for (const name of Object.keys(methods) as (keyof Port)[]) {
    port[name] = async (...args) => {
      loading ??= load()
      const loaded = await loading
      Object.assign(port, loaded)
      return await loaded[name](...args)
    }
  }
  return port as Port
}
