/** Translates what SQLite throws at the ports: trouble with the disk is `store_unavailable`, and no fault of the request. */
import { troubleOf, unavailable } from './disk.ts'

/** `store_unavailable` for what the disk has against it; any other error as it is. */
export function toStoreError(error: unknown): unknown {
  const trouble = troubleOf(error)
  return trouble === null ? error : unavailable(trouble, error)
}

/** The same, for a promise. */
export function rethrow(error: unknown): never {
  throw toStoreError(error)
}

type Method = (...args: unknown[]) => unknown

/** The same ports, whose methods throw and reject with what `toStoreError` makes of an error. */
export function translatePortErrors<Ports extends object>(ports: Ports): Ports {
  const translated: Record<string, unknown> = {}
  for (const [name, port] of Object.entries(ports)) {
    translated[name] =
      typeof port === 'function'
        ? translateMethod(ports, name)
        : translatePortErrors(port as object)
  }
  return translated as Ports
}

/** A port that is loaded when it is first used has other methods from then on, so it is asked for them at every call. */
function translateMethod(port: object, name: string): Method {
  return (...args) => {
    try {
      const answer = (port as Readonly<Record<string, Method>>)[name]?.(...args)
      return answer instanceof Promise ? answer.catch(rethrow) : answer
    } catch (error) {
      return rethrow(error)
    }
  }
}
