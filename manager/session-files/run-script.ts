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

const CUT =
  'The connection to the session was cut: the session, your sign-in or your right to the session has ended, or the network failed.'

/** A script whose client has left is killed after this time: it may wait for a file system that hangs. */
const CLEAN_UP_MS = 2_000

/** Input is given up if no byte comes, or none is taken, for so long. */
const STALLED_MS = 60_000

/**
 * Sends the input of a script, and its end even if the source breaks off or stalls: the script knows how many bytes come, and cleans up.
 * Never rejects.
 *
 * @param gone aborted when the client has left: its body just stops then
 * @param onStall called before a stalled input is ended
 */
export async function sendInput(
  wire: Duplex,
  source: AsyncIterable<Uint8Array>,
  { gone, onStall }: { readonly gone: AbortSignal; readonly onStall: () => void },
): Promise<void> {
  const end = () => void endInput(wire)
  const leave = () => {
    end()
    setTimeout(() => wire.destroy(), CLEAN_UP_MS).unref()
  }
  const stalled = setTimeout(() => {
    onStall()
    leave()
  }, STALLED_MS)
  wire.once('close', () => clearTimeout(stalled))
  gone.addEventListener('abort', leave, { once: true })
  try {
    gone.throwIfAborted()
    for await (const chunk of source) {
      await send(wire, COMMAND_FRAME.stdin, chunk)
      if (!wire.destroyed) stalled.refresh()
    }
  } catch {
    // The script finds that bytes are missing.
  } finally {
    clearTimeout(stalled)
    end()
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
