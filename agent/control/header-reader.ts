import { type Socket } from 'node:net'
import { DataHeader } from '#agent/contract'
import { parseJson } from '#base/parse-json'

/** Longest line that is read; a header of the contract is a few hundred bytes. */
export const MAX_LINE_BYTES = 8 * 1024

/**
 * Reads one line and calls back once: with the line, or with undefined when the socket ends or breaks first or the line is too
 * long. The socket is left paused; bytes after the line are put back into it.
 */
export function readLine(socket: Socket, done: (line: string | undefined) => void): void {
  let got: Buffer = Buffer.alloc(0)
  const finish = (line: string | undefined) => {
    socket.off('data', onData).off('end', onGone).off('error', onGone).off('close', onGone)
    socket.pause()
    done(line)
  }
  const onGone = () => finish(undefined)
  const onData = (chunk: Buffer) => {
    const from = got.length
    got = from === 0 ? chunk : Buffer.concat([got, chunk])
    const end = got.indexOf(0x0a, from)
    if (end > MAX_LINE_BYTES || (end < 0 && got.length > MAX_LINE_BYTES)) {
      finish(undefined)
      return
    }
    if (end < 0) return
    const line = got.toString('utf8', 0, end)
    if (got.length > end + 1) socket.pause().unshift(got.subarray(end + 1))
    finish(line)
  }
  socket.on('data', onData).on('end', onGone).on('error', onGone).on('close', onGone).resume()
}

export function parseHeader(line: string): DataHeader | undefined {
  return DataHeader.safeParse(parseJson(line)).data
}
