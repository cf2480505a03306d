import { cutSlowLines } from '../../../ui/slow-lines.ts'

/** A notebook as the preview shows it: cells with text and outputs. Unknown parts are left out. */
export type NotebookOutput =
  | { readonly kind: 'text'; readonly text: string; readonly isError: boolean }
  | { readonly kind: 'html'; readonly html: string }
  | { readonly kind: 'image'; readonly source: string }
export interface NotebookCell {
  readonly kind: 'markdown' | 'code'
  readonly text: string
  readonly count: number | null
  readonly outputs: readonly NotebookOutput[]
}

type Json = Readonly<Record<string, unknown>>
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : [])
const linesOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter(line => typeof line === 'string') : []
/** Texts are strings or lists of lines. */
const textOf = (value: unknown): string => cutSlowLines(wholeTextOf(value)).text
const wholeTextOf = (value: unknown): string => (typeof value === 'string' ? value : linesOf(value).join(''))
const BASE64 = /^[A-Za-z0-9+/=\s]+$/
/** Colours and cursor movements that programs write for terminals. */
// eslint-disable-next-line no-control-regex -- escape sequences begin with the control character ESC
const ESCAPES = /\u001b\[[0-9;?]*[A-Za-z]/g

/** Reads a notebook of format 4. @returns null for another text */
export function readNotebook(text: string): NotebookCell[] | null {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return null
  }
  if (!isJson(json) || !Array.isArray(json['cells'])) return null
  return listOf(json['cells']).map(cell => ({
    kind: cell['cell_type'] === 'markdown' ? 'markdown' : 'code',
    text: textOf(cell['source']),
    count: typeof cell['execution_count'] === 'number' ? cell['execution_count'] : null,
    outputs: listOf(cell['outputs']).flatMap(output => outputOf(output) ?? []),
  }))
}

/** The richest form that we show: picture, HTML, or text. Scripts and widgets are never shown. */
function outputOf(output: Json): NotebookOutput | undefined {
  const type = output['output_type']
  if (type === 'stream') return plain(textOf(output['text']), output['name'] === 'stderr')
  if (type === 'error') {
    const trace = linesOf(output['traceback'])
      .map(line => `${cutSlowLines(line).text}\n`)
      .join('')
    return plain(trace || `${textOf(output['ename'])}: ${textOf(output['evalue'])}`, true)
  }
  const data = isJson(output['data']) ? output['data'] : {}
  for (const format of ['image/png', 'image/jpeg']) {
    const picture = textOf(data[format])
    if (picture !== '' && BASE64.test(picture))
      return { kind: 'image', source: `data:${format};base64,${picture.replaceAll(/\s/g, '')}` }
  }
  const html = textOf(data['text/html'])
  if (html !== '') return { kind: 'html', html }
  return plain(textOf(data['text/plain']), false)
}

function plain(text: string, isError: boolean): NotebookOutput | undefined {
  return text === '' ? undefined : { kind: 'text', text: text.replaceAll(ESCAPES, ''), isError }
}
