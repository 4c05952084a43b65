/** Cutting a text to the columns of a terminal: what is drawn as one, an emoji made of several say, stays one. */

let graphemes: Intl.Segmenter | null = null

/** What is too long ends in `…`: then it is as wide as there is room, or narrower by half a wide character. */
export function cutTo(text: string, columns: number): string {
  if (Bun.stringWidth(text) <= columns) return text
  if (columns <= 0) return ''
  graphemes ??= new Intl.Segmenter()
  let kept = ''
  let width = 0
  for (const { segment } of graphemes.segment(text)) {
    width += Bun.stringWidth(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return `${kept}…`
}
