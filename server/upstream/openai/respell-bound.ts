/** Reads from a refusal whether only the name of the bound was at fault, and in which word to state it instead. */
import { BOUND_WORDS, type BoundWord, type OutputBound } from '#domain/provider.ts'
import type { UpstreamFailure } from '#domain/upstream.ts'

/** What servers say of a field that they do not know, or of two that exclude each other. */
const ABOUT_NAME =
  /unknown (?:name|field|param|argument|key|property)|unrecogni[sz]ed|unexpected (?:keyword|field|param|argument|key|property)|extra (?:input|field|param|propert)|additional propert|unsupported (?:param|field|argument|property)|cannot find field|no such (?:field|param)|not an? (?:valid|known|recogni[sz]ed) (?:field|param|argument|property)|at the same time|both be (?:set|specified|used|given|provided)|mutually exclusive|only one of|deprecated/i
/** The same in words that may also be about a value. */
const PERHAPS_ABOUT_NAME =
  /not (?:supported|permitted|allowed|accepted)|unsupported|forbidden|does not (?:support|accept|take|know)/i
const ABOUT_VALUE =
  /too (?:large|small|high|low|long|many|few)|\bvalue\b|must be|at least|at most|(?:less|greater|more|fewer|larger|smaller) than|exceed|range|maximum|minimum|limit|positive|integer|context/i
const NUMBER = /(?<![\w.-])\d+(?![\w-])/
const NAME_CODES: ReadonlySet<string> = new Set([
  'unsupported_parameter',
  'unknown_parameter',
  'invalid_parameter_combination',
])

/** serde and pydantic list the fields that they know. */
const KNOWN_FIELDS =
  /expected (?:one )?of|expected:|(?:valid|allowed|known|supported) (?:fields|parameters|arguments)/i
const WORD = /\bmax_(?:completion_)?tokens\b/g

/**
 * The one word for the same request, when the refusal is about how the bound was `sent`. Null when it is not, or when it is
 * about its value: the other word alone might be ignored, and the answer then be without a bound.
 */
export function respellBound(sent: OutputBound | null, failure: UpstreamFailure): BoundWord | null {
  const { kind, message, details } = failure
  const { status, param, providerCode = '' } = details
  if (sent === null || sent === 'none' || kind !== 'rejected') return null
  if (status !== 400 && status !== 422) return null
  const blamed = BOUND_WORDS.find((word) => param === word)
  const isNameCode = NAME_CODES.has(providerCode)
  for (const clause of message.split(/;\s|\.\s|\n/)) {
    const [stated = clause] = clause.split(KNOWN_FIELDS)
    const named = [...new Set(stated.match(WORD))] as BoundWord[]
    const refused = named.length === 1 ? named[0] : (blamed ?? named[0])
    if (refused === undefined || !(isNameCode || isAboutName(stated))) continue
    return sent === 'both' || sent === refused ? otherThan(refused) : null
  }
  return null
}

const isAboutName = (clause: string): boolean =>
  ABOUT_NAME.test(clause) ||
  (PERHAPS_ABOUT_NAME.test(clause) && !ABOUT_VALUE.test(clause) && !NUMBER.test(clause))

const otherThan = (word: BoundWord): BoundWord =>
  word === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
