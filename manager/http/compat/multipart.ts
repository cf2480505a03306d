import { AppError } from '#manager/contract'

/** A file of a form. */
export interface FormFile {
  readonly field: string
  readonly name: string
  readonly bytes: Buffer
}

const MOST_FILES = 20
/** Parts, those without a file included: clients send none of these. */
const MOST_PARTS = 100
const MOST_HEAD = 4_096

/**
 * The files of a form (`multipart/form-data`) that is in memory as a whole.
 *
 * @throws AppError `bad_request` for another form, more than 20 files or 100 parts
 * @see RFC 7578
 */
export function readForm(body: Buffer, contentType: string): FormFile[] {
  const [, quoted, plain] = /boundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) throw malformed()
  const mark = Buffer.from(`--${boundary}`)
  const files: FormFile[] = []
  let at = body.indexOf(mark)
  for (let parts = 0; at >= 0 && parts <= MOST_PARTS; parts++) {
    const start = at + mark.length
    if (body.subarray(start, start + 2).toString() === '--') return files
    const headEnd = body.indexOf('\r\n\r\n', start)
    const next = body.indexOf(Buffer.concat([Buffer.from('\r\n'), mark]), start)
    if (headEnd < 0 || next < 0 || headEnd > next || headEnd - start > MOST_HEAD) throw malformed()
    const head = body.subarray(start, headEnd).toString()
    const name = /filename="((?:[^"\\]|\\.)*)"/i.exec(head)?.[1]?.replaceAll(/\\(.)/g, '$1')
    const field = /[; ]name="((?:[^"\\]|\\.)*)"/i.exec(head)?.[1] ?? ''
    if (files.length >= MOST_FILES)
      throw new AppError('bad_request', { why: `Send at most ${MOST_FILES} files at once.` })
    if (name !== undefined) files.push({ field, name: decoded(name), bytes: body.subarray(headEnd + 4, next) })
    at = next + 2
  }
  throw malformed()
}

/** Python's clients percent-encode names. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

const malformed = () =>
  new AppError('bad_request', { why: 'The body must be a form with files (multipart/form-data).' })
