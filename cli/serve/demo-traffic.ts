/** Makes the screens of a demo live: a few requests a minute by a key of their own, whose name says that they are made up. */
import { createKey } from '#operator/keys.ts'
import { perform } from '#operator/verb.ts'
import type { GatewayStore } from '#signin/store.ts'
import type { Context } from '../context.ts'
import { toOperatorDeps } from '../gateway/open-operator.ts'

const FIRST_MS = 5_000
const EVERY_MS = 15_000
/** The one that the key may not use is refused, so that there is something to be explained. */
const ALLOWED = ['demo/echo', 'demo/lorem', 'demo/flaky']
const MODELS = ['demo/lorem', 'demo/echo', 'demo/image', 'demo/lorem', 'demo/flaky'] as const
const USERS = ['u_204', 'u_118', 'u_77'] as const
/** The account's money lasts for hours. */
const MAX_TOKENS = 60

/** Until `stopped`. A request that fails is a part of it. */
export async function startDemoTraffic(
  context: Context,
  store: GatewayStore,
  baseUrl: string,
  stopped: Promise<unknown>,
): Promise<void> {
  const { key } = await perform(createKey, await toOperatorDeps(context, store, null), {
    name: 'demo-traffic',
    note: 'made-up requests of this demo',
    rpm_limit: 10,
    allowed_models: ALLOWED,
    daily_spend_limit_usd: '1',
  })
  let sent = 0
  const send = (): void => {
    const turn = sent++
    const body = {
      model: MODELS[turn % MODELS.length],
      user: USERS[turn % USERS.length],
      max_tokens: MAX_TOKENS,
      messages: [{ role: 'user', content: 'What would a quiet afternoon look like?' }],
    }
    void fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
      .then((answer) => answer.arrayBuffer())
      .catch(() => {})
  }
  let timer = setTimeout(function again() {
    send()
    timer = setTimeout(again, EVERY_MS)
    timer.unref()
  }, FIRST_MS)
  timer.unref()
  void stopped.then(() => clearTimeout(timer))
}
