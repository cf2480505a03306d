import { type Socket } from 'node:net'
import { AppError, ascii, because, FRAME_DIRECT } from '#manager/contract/light'

/** A whole text frame of a server, shorter than 126 bytes: no mask, one byte of length. */
const TEXT = 0x81
const HEADER = 2
const LONGEST = 125

/** `other`: a frame of a tunnel that was opened as usual. `silent`: nothing came in time. */
export type FirstFrame = { readonly kind: 'offer'; readonly text: string } | { readonly kind: 'other' | 'silent' }

/**
 * Waits for the agent's first frame on a wire that was just dialled. An offer of the direct path is taken from the wire. Any other
 * frame stays in it, for the end of the tunnel.
 *
 * @throws AppError `unavailable` if the wire ends before; the signal's reason
 */
export function takeOffer(
  wire: Socket,
  { signal, waitMs }: { readonly signal?: AbortSignal | undefined; readonly waitMs: number },
): Promise<FirstFrame> {
  return new Promise((resolve, reject) => {
    let got: Buffer = Buffer.alloc(0)

    const finish = (settle: () => void) => {
      wire.pause()
      wire.off('data', onData).off('end', onEnd).off('error', onError).off('close', onEnd)
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      settle()
    }
    const putBack = (from: number) => {
      if (got.length > from) wire.unshift(got.subarray(from))
    }
    const onData = (chunk: Buffer) => {
      got = Buffer.concat([got, chunk])
      const [kind, length = 0] = got
      if (got.length < HEADER) return
      const end = HEADER + length
      if (kind === TEXT && length <= LONGEST && got.length < end) return
      const text = kind === TEXT && length <= LONGEST ? ascii(got.subarray(HEADER, end)) : ''
      const isOffer = text.startsWith(FRAME_DIRECT)
      finish(() => {
        putBack(isOffer ? end : 0)
        resolve(isOffer ? { kind: 'offer', text } : { kind: 'other' })
      })
    }
    const fail = (error: Error) => finish(() => reject(error))
    const onEnd = () => fail(new AppError('unavailable', because('manager_away')))
    const onError = (error: Error) => fail(new AppError('unavailable', because('manager_away'), { cause: error }))
    const onAbort = () => fail(signal?.reason as Error)
    const timer = setTimeout(() => {
      finish(() => {
        putBack(0)
        resolve({ kind: 'silent' })
      })
    }, waitMs)
    if (signal?.aborted) {
      onAbort()
      return
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    wire.on('data', onData).on('end', onEnd).on('error', onError).on('close', onEnd)
    wire.resume()
  })
}
