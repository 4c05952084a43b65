/** What the pages are looked at in: each language, width and colour, with scripts and without. */
import { FULL } from '#test/support/tier.ts'

export interface Look {
  readonly locale: 'en-GB' | 'ru-RU'
  readonly width: 320 | 390 | 1280
  readonly colorScheme: 'light' | 'dark'
  readonly javaScriptEnabled: boolean
}

const ALL: readonly Look[] = (['en-GB', 'ru-RU'] as const).flatMap((locale) =>
  ([390, 1280] as const).flatMap((width) =>
    (['light', 'dark'] as const).flatMap((colorScheme) =>
      [true, false].map((javaScriptEnabled) => ({ locale, width, colorScheme, javaScriptEnabled })),
    ),
  ),
)

/** What goes without scripts the forms themselves show (test/cabinet). */
const SOME: readonly Look[] = [
  { locale: 'ru-RU', width: 390, colorScheme: 'light', javaScriptEnabled: true },
]

export const LOOKS = FULL ? ALL : SOME

/** Where a person of no other taste looks. */
export const PLAIN: Look = {
  locale: 'en-GB',
  width: 1280,
  colorScheme: 'light',
  javaScriptEnabled: true,
}

export const describeLook = (look: Look): string =>
  `${look.locale} ${look.width} ${look.colorScheme} ${look.javaScriptEnabled ? 'with' : 'without'} scripts`
