/** What to paste into a terminal or a program, for each surface that there is. */
import { type AllowList, allows } from '#domain/key.ts'
import type { ModelCard } from '#domain/model-card.ts'
import type { VerbRecord } from '#operator/verbs.ts'
import { type Html, html } from '#pages/html.ts'
import type { Visit } from '../visit.ts'

interface Snippet {
  readonly title: string
  readonly text: string
}

/** `secret`: of a key that was just made, and may use some models; null: where it goes is shown. */
export function drawSnippets(
  visit: Visit,
  secret: string | null,
  { model, masks = null }: { readonly model?: Model | undefined; readonly masks?: AllowList },
): Html {
  const { words } = visit
  return html`${snippetsOf(visit, secret, { model, masks }).map(
    (
      { title, text },
      place,
    ) => html`<details${place === 0 ? html` open` : ''}><summary>${title}</summary>
<pre id="snippet-${place}">${text}</pre>
<button type="button" data-copy="snippet-${place}" data-copied="${words.keys.copied}">${words.keys.copy}</button></details>`,
  )}`
}

type Model = Pick<VerbRecord<'models.show'>, 'id' | 'output_modalities'>

/** One that the key can try. */
function exampleOf(visit: Visit, masks: AllowList): string {
  const speaking = allowedOf(visit, masks).find(
    ({ kind, outputModalities }) => kind === 'generate' && outputModalities.includes('text'),
  )
  return speaking?.id ?? 'provider/model'
}

const allowedOf = ({ operator, account }: Visit, masks: AllowList): readonly ModelCard[] =>
  [...operator.store.catalogue.current().models.values()].filter(
    ({ id, prices }) =>
      prices.length > 0 && allows(account.limits.allowedModels, id) && allows(masks, id),
  )

interface Of {
  readonly model: Model | undefined
  readonly masks: AllowList
}

/** Of a model that only draws, which the other ways do not say. */
const drawing = (base: string, key: string, model: string): Snippet => ({
  title: 'Shell',
  text: `curl -sS ${base}/chat/completions${headersOf(key)} \\\n  -d '{"model": "${model}", "modalities": ["image"], "messages": [{"role": "user", "content": "a red fox"}]}'`,
})

function snippetsOf(visit: Visit, secret: string | null, of: Of): readonly Snippet[] {
  const { operator } = visit
  const model = of.model?.id ?? exampleOf(visit, of.masks)
  const base = operator.live?.baseUrl ?? ''
  const root = base.replace(/\/v1$/, '')
  const key = secret ?? 'if-…'
  if (of.model?.output_modalities.includes('text') === false) return [drawing(base, key, model)]
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
    ...embeddings(allowedOf(visit, of.masks), base, key),
  ]
}

/** Of curl, a line each. */
const headersOf = (key: string): string =>
  [`Authorization: Bearer ${key}`, 'Content-Type: application/json']
    .map((one) => ` \\\n  -H "${one}"`)
    .join('')

/** Where there is a model that embeds. */
function embeddings(models: readonly ModelCard[], base: string, key: string): readonly Snippet[] {
  const model = models.find(({ kind }) => kind === 'embed')
  if (model === undefined) return []
  return [
    {
      title: 'Embeddings',
      text: `curl -sS ${base}/embeddings${headersOf(key)} \\\n  -d '{"model": "${model.id}", "input": "hi"}'`,
    },
  ]
}
