import { type Duplex } from 'node:stream'
import {
  AppError,
  COMMAND_FRAME,
  CommandEnd,
  commandFrameHeader,
  createCommandFrameReader,
  createFrameText,
} from '#manager/contract'

/**
 * Reads what a script in a session writes, as slowly as it is asked for. Leaving early breaks the stream, which kills the script.
 *
 * @param wire frames of an attached command, which a hostile session may have written
 * @returns the exit code
 * @throws AppError `tunnel_failed` if the connection breaks, or the script was killed
 */
export async function* outputOf(wire: Duplex): AsyncGenerator<Buffer, number, undefined> {
  const endText = createFrameText()
  let end: CommandEnd | undefined
  let parts: Buffer[] = []
  const read = createCommandFrameReader((kind, bytes, isLast) => {
    if (kind === COMMAND_FRAME.stdout) parts.push(Buffer.from(bytes))
    if (kind !== COMMAND_FRAME.exit) return
    const text = endText(bytes, isLast)
    if (text !== undefined) end = CommandEnd.parse(JSON.parse(text))
  })
  try {
    for await (const chunk of wire) {
      read(chunk as Buffer)
      const written = parts
      parts = []
      yield* written
      if (end?.exitCode != null) return end.exitCode
      if (end) break
    }
  } catch (error) {
    throw new AppError('tunnel_failed', { why: CUT }, { cause: error })
  } finally {
    wire.destroy()
  }
  throw new AppError('tunnel_failed', { why: CUT })
}

const CUT = 'The connection to the session was cut: the session has ended, your right to it has, or the network failed.'

/** Sends the input of a script. If its source breaks off, the script is told to give up, so that it can clean up. Never rejects. */
export async function sendInput(wire: Duplex, source: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const chunk of source) await send(wire, COMMAND_FRAME.stdin, chunk)
    await send(wire, COMMAND_FRAME.stdinEnd)
  } catch {
    await send(wire, COMMAND_FRAME.signal, Buffer.from('TERM')).catch(() => undefined)
  }
}

export const endInput = (wire: Duplex): Promise<void> => send(wire, COMMAND_FRAME.stdinEnd).catch(() => undefined)

function send(wire: Duplex, kind: number, bytes: Uint8Array = new Uint8Array(0)): Promise<void> {
  return new Promise((resolve, reject) => {
    wire.write(Buffer.concat([commandFrameHeader(kind, bytes.length), bytes]), error => {
      if (error) reject(error)
      else resolve()
    })
  })
}
