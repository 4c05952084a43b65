/** The live figures of a page, as its script reads them. */
import type { Browser } from '#test/acceptance/signin/browser.ts'
import type { House } from './house.ts'

export interface Told {
  readonly shown: Readonly<Record<string, string>>
  readonly latest: string | null
}

interface Event {
  readonly name: string
  readonly data: string
}

export async function openStream({ authUrl }: Pick<House, 'authUrl'>, browser: Browser) {
  const cut = new AbortController()
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const { body } = await fetch(`${authUrl}/cabinet/live`, {
    headers: { cookie, accept: 'text/event-stream' },
    signal: cut.signal,
  })
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let rest = ''

  const next = async (): Promise<Event> => {
    for (;;) {
      const [event, ...more] = rest.split('\n\n')
      if (more.length > 0) {
        rest = more.join('\n\n')
        const name = /^event: (.*)$/m.exec(event ?? '')?.[1]
        if (name !== undefined) return { name, data: /^data: (.*)$/m.exec(event ?? '')?.[1] ?? '' }
        continue
      }
      const { value, done } = (await reader?.read()) ?? { done: true }
      if (done) throw new Error(`it ended: ${rest}`)
      rest += decoder.decode(value)
    }
  }
  return {
    close: () => cut.abort(),
    /** The next figures that are like this. */
    async figures(isIt: (told: Told) => boolean = () => true): Promise<Told> {
      for (;;) {
        const { name, data } = await next()
        if (name !== 'figures') throw new Error(`it ended: ${name} ${data}`)
        const told = JSON.parse(data) as Told
        if (isIt(told)) return told
      }
    },
    /** Where it leads to once it ends. */
    async ended(): Promise<string> {
      for (;;) {
        const { name, data } = await next()
        if (name === 'ended') return data
      }
    },
  }
}
