import { cutSlowText } from '../../ui/slow-lines.ts'

/** Escape sequences for a terminal (colours, cursor moves, titles). The log page removes them and shows the text. */
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g

/**
 * Splits a log into lines as a terminal would have shown them: a carriage return overwrites its line (progress bars). Lines that a browser
 * would need minutes for are cut.
 */
export function logLines(text: string): string[] {
  if (text === '') return []
  const lines = text.replace(ESCAPES, '').replace(/\r\n/g, '\n').replace(/\n$/, '').split('\n')
  return lines.map(line => cutSlowText(line.slice(line.lastIndexOf('\r', line.length - 2) + 1).replace(/\r$/, '')))
}

export interface LinePart {
  readonly text: string
  readonly match: boolean
}

/** Most places of a line that are marked: a browser needs minutes for a million elements, which a letter has in a line of a megabyte. */
const MOST_MARKED = 1_000

/** Splits a line at the occurrences of `search`; case does not matter. A line with very many of them is one part after the first ones. */
export function highlight(line: string, search: string): LinePart[] {
  if (search === '') return [{ text: line, match: false }]
  const parts: LinePart[] = []
  const [haystack, needle] = [line.toLowerCase(), search.toLowerCase()]
  let from = 0
  // In a few scripts lower case is longer than the original, so positions would not match: mark the whole line.
  if (haystack.length !== line.length) return [{ text: line, match: haystack.includes(needle) }]
  let marked = 0
  for (let at = haystack.indexOf(needle); at !== -1 && marked < MOST_MARKED; at = haystack.indexOf(needle, from)) {
    marked++
    if (at > from) parts.push({ text: line.slice(from, at), match: false })
    parts.push({ text: line.slice(at, at + needle.length), match: true })
    from = at + needle.length
  }
  if (from < line.length || parts.length === 0) parts.push({ text: line.slice(from), match: false })
  return parts
}
