import { createHash } from 'node:crypto'
import { type Readable, Transform } from 'node:stream'
import { AppError } from '#manager/contract'

/**
 * Passes a body on and looks at its bytes: if they are not what was signed, it ends with an error instead, before any
 * handler runs. Nothing is kept, so the limit of the parser behind it is the limit of memory.
 */
export function checkedBody(body: Readable, hash: string): Readable {
  const digest = createHash('sha256')
  const checked = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      digest.update(chunk)
      done(null, chunk)
    },
    flush(done) {
      // Not a secret: whoever signed it told it.
      if (digest.digest('hex') === hash) done()
      else done(new AppError('signature_invalid', { why: 'The body is not the one that was signed.' }))
    },
  })
  // Where no parser reads the body (of a GET, or beyond the limit of size) nobody else hears of it, and an error that nobody
  // hears of ends the process.
  checked.on('error', () => undefined)
  body.on('error', error => checked.destroy(error))
  return body.pipe(checked)
}
