/** Chooses the language of a page. */
import { LANGUAGES, type Language } from '#domain/language.ts'

/** The first supported language of `ui_locales` (OpenID Connect Core §3.1.2.1), else of `Accept-Language`, else English. */
export function readLanguage(
  acceptLanguage: string | null | undefined,
  uiLocales?: string | undefined,
): Language {
  return find((uiLocales ?? '').split(' ')) ?? find(byWeight(acceptLanguage ?? '')) ?? 'en'
}

const find = (tags: readonly string[]): Language | undefined =>
  tags.map(toLanguage).find((language) => language !== undefined)

function toLanguage(tag: string): Language | undefined {
  const [primary] = tag.trim().toLowerCase().split('-')
  return LANGUAGES.find((language) => language === primary)
}

/** `en;q=0.5, ru` → `ru`, `en`. Languages with `q=0` are left out; equal weights keep their order. */
const byWeight = (header: string): readonly string[] =>
  header
    .slice(0, 1000)
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.split(';').map((piece) => piece.trim())
      const weight = parameters.find((parameter) => parameter.startsWith('q='))
      return { tag, weight: weight === undefined ? 1 : Number(weight.slice(2)) }
    })
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight)
    .map(({ tag }) => tag)
