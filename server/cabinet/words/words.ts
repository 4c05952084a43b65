/** The texts of each language. */
import type { Language } from '#domain/language.ts'
import { ENGLISH, type Words } from './en.ts'
import { RUSSIAN } from './ru.ts'

export const WORDS: Readonly<Record<Language, Words>> = { en: ENGLISH, ru: RUSSIAN }
