import { Report } from '#agent/contract'
import { type ReadMessage, readMessage } from './read-message.ts'

/** Beginning of the part that repeats: the field that agents send after those that differ in each report. */
const REPEATED = ',"version":"'
/** A longer part is not kept: a thousand agents would hold too much memory. */
const MOST_KEPT = 64 * 1024

/** Fields that differ in each report. */
const Differing = Report.pick({ type: true, sequence: true, clockMs: true, deviceFigures: true }).strict()
const DIFFERING = Object.keys(Differing.shape)
const isDiffering = (field: string) => DIFFERING.includes(field)

interface Kept {
  /** Text of the fields that repeat, with the closing brace. */
  readonly text: string
  readonly fields: Omit<Report, keyof typeof Differing.shape>
}

/**
 * Reads the messages of one connection like `readMessage`. Of a report that repeats the one before, only the fields that differ are parsed
 * and checked: with a thousand agents, reading their heartbeats is the largest part of the manager's work.
 *
 * @returns a function; @throws AppError `bad_request`
 */
export function createReportReader(): (text: string) => ReadMessage {
  let kept: Kept | undefined
  return text => {
    const at = text.startsWith('{"type":"report",') ? text.indexOf(REPEATED) : -1
    if (at < 0) return readMessage(text)
    const repeated = text.slice(at + 1)
    const isRepeated = repeated === kept?.text
    const differing = isRepeated || repeated.length <= MOST_KEPT ? differingIn(text.slice(0, at)) : undefined
    if (isRepeated && differing && kept) return { message: { ...kept.fields, ...differing }, leftOut: [] }
    const read = readMessage(text)
    kept = differing ? keep(repeated, read) : undefined
    return read
  }
}

/** @returns undefined if the text is more, or something else; then the whole message has to be read */
function differingIn(beginning: string): Pick<Report, keyof typeof Differing.shape> | undefined {
  // Escapes may stand for characters that cannot be stored.
  if (beginning.includes('\\')) return undefined
  try {
    return Differing.safeParse(JSON.parse(`${beginning}}`)).data
  } catch {
    return undefined
  }
}

/** The beginning is a JSON object for itself, so the rest are fields of the same object. */
function keep(text: string, { message, leftOut }: ReadMessage): Kept | undefined {
  if (message.type !== 'report' || message.images || leftOut.length > 0) return undefined
  // A field that is there twice counts as it is the second time.
  if (Object.keys(JSON.parse(`{${text}`) as object).some(isDiffering)) return undefined
  const { type: _type, sequence: _sequence, clockMs: _clockMs, deviceFigures: _figures, ...fields } = message
  return { text, fields }
}
