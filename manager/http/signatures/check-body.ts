import { createHash } from 'node:crypto'
import { type Readable, Transform } from 'node:stream'
import { AppError } from '#manager/contract'

/**
 * Passes a body on and hashes it: if it does not match the signature, the stream ends with an error, before any handler runs. Nothing is
 * buffered here, so memory is limited by the parser behind it.
 */
export function checkedBody(body: Readable, hash: string): Readable {
  const digest = createHash('sha256')
  const checked = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      digest.update(chunk)
      done(null, chunk)
    },
    flush(done) {
      // The hash is no secret: the signer sent it.
      if (digest.digest('hex') === hash) done()
      else done(new AppError('signature_invalid', { why: 'The body differs from the one that was signed.' }))
    },
  })
  // If no parser reads the body (of a GET, or beyond the size limit), there is no other listener for the error, and an error without a
  // listener would end the process.
  checked.on('error', () => undefined)
  body.on('error', error => checked.destroy(error))
  return body.pipe(checked)
}
