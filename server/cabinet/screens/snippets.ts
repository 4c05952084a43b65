/** What to paste into a terminal or a program, for each surface that there is. */
import { type Html, html } from '#pages/html.ts'
import type { Visit } from '../visit.ts'

interface Snippet {
  readonly title: string
  readonly text: string
}

/** `secret`: of a key that was just made; null: where it goes is shown. */
export function drawSnippets(visit: Visit, secret: string | null, model = exampleOf(visit)): Html {
  const { words } = visit
  return html`${snippetsOf(visit, secret, model).map(
    (
      { title, text },
      place,
    ) => html`<details${place === 0 ? html` open` : ''}><summary>${title}</summary>
<pre id="snippet-${place}">${text}</pre>
<button type="button" data-copy="snippet-${place}" data-copied="${words.keys.copied}">${words.keys.copy}</button></details>`,
  )}`
}

/** One that a request can be tried with. */
function exampleOf({ operator }: Visit): string {
  const { models } = operator.store.catalogue.current()
  const conversing = [...models.values()].filter(
    ({ kind, prices }) => kind === 'generate' && prices.length > 0,
  )
  return conversing[0]?.id ?? 'provider/model'
}

function snippetsOf({ operator }: Visit, secret: string | null, model: string): readonly Snippet[] {
  const base = operator.live?.baseUrl ?? ''
  const root = base.replace(/\/v1$/, '')
  const key = secret ?? 'if-…'
  return [
    {
      title: 'Shell',
      text: `export OPENAI_BASE_URL=${base}\nexport OPENAI_API_KEY=${key}\ncurl -sS $OPENAI_BASE_URL/chat/completions${headersOf('$OPENAI_API_KEY')} \\\n  -d '{"model": "${model}", "messages": [{"role": "user", "content": "hi"}]}'`,
    },
    {
      title: 'Python',
      text: `from openai import OpenAI  # pip install openai\n\nclient = OpenAI(base_url="${base}", api_key="${key}")\nanswer = client.chat.completions.create(model="${model}", messages=[{"role": "user", "content": "hi"}])\nprint(answer.choices[0].message.content, answer.usage.cost)`,
    },
    {
      title: 'JavaScript',
      text: `import OpenAI from 'openai' // npm install openai\n\nconst client = new OpenAI({ baseURL: '${base}', apiKey: '${key}' })\nconst answer = await client.chat.completions.create({ model: '${model}', messages: [{ role: 'user', content: 'hi' }] })\nconsole.log(answer.choices[0].message.content, answer.usage.cost)`,
    },
    {
      title: 'Messages · Claude Code',
      text: `export ANTHROPIC_BASE_URL=${root}\nexport ANTHROPIC_AUTH_TOKEN=${key}\nexport ANTHROPIC_MODEL=${model}\nclaude`,
    },
    {
      title: 'Responses',
      text: `curl -sS ${base}/responses${headersOf(key)} \\\n  -d '{"model": "${model}", "input": "hi"}'`,
    },
    ...embeddings(operator, base, key),
  ]
}

/** Of curl, a line each. */
const headersOf = (key: string): string =>
  [`Authorization: Bearer ${key}`, 'Content-Type: application/json']
    .map((one) => ` \\\n  -H "${one}"`)
    .join('')

/** Where there is a model that embeds. */
function embeddings(operator: Visit['operator'], base: string, key: string): readonly Snippet[] {
  const { models } = operator.store.catalogue.current()
  const model = [...models.values()].find(({ kind }) => kind === 'embed')
  if (model === undefined) return []
  return [
    {
      title: 'Embeddings',
      text: `curl -sS ${base}/embeddings${headersOf(key)} \\\n  -d '{"model": "${model.id}", "input": "hi"}'`,
    },
  ]
}
