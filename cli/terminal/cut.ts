/** Cuts a text to terminal columns by graphemes, so that combined characters such as emoji stay whole. */

let graphemes: Intl.Segmenter | null = null

/** Longer text ends in `…`; it may be one column narrower where a wide character does not fit. */
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
