/** The languages that the gateway's pages and mails are written in. */

export const LANGUAGES = ['en', 'ru'] as const

export type Language = (typeof LANGUAGES)[number]
