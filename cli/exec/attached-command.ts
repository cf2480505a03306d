import { type Duplex, type Readable, type Writable } from 'node:stream'
import {
  AppError,
  COMMAND_FRAME,
  CommandEnd,
  commandFrameHeader,
  type CommandSignal,
  createCommandFrameReader,
  createFrameText,
  isAppError,
} from '#manager/contract'

export interface CommandStreams {
  /** Undefined: the command has no input. */
  readonly stdin: Readable | undefined
  readonly stdout: Writable
  readonly stderr: Writable
}

export interface AttachedCommand {
  /**
   * The end, when all output is in the streams. If the reader of standard output has left, the command is killed.
   * @throws AppError `tunnel_failed` if the connection breaks first
   */
  readonly ended: Promise<CommandEnd | 'reader_gone'>
  signal(name: CommandSignal): void
}

/** Carries the frames of an attached command from and to streams, with backpressure: as slow as the slowest of them. */
export function carryCommand(wire: Duplex, streams: CommandStreams): AttachedCommand {
  const frame = (kind: number, bytes: Uint8Array) => Buffer.concat([commandFrameHeader(kind, bytes.length), bytes])
  const send = async (kind: number, bytes: Uint8Array = new Uint8Array(0)) => {
    if (wire.destroyed || wire.writableEnded) return
    await write(wire, frame(kind, bytes))
  }
  wire.on('error', () => undefined)
  // The end of the command is the end of all of this; what is left of the input is not needed then.
  sendInput(streams.stdin, send).catch((error: unknown) => wire.destroy(error instanceof Error ? error : undefined))
  return {
    ended: receive(wire, streams),
    signal: name => void send(COMMAND_FRAME.signal, Buffer.from(name)),
  }
}

async function sendInput(
  stdin: Readable | undefined,
  send: (kind: number, bytes?: Uint8Array) => Promise<void>,
): Promise<void> {
  if (stdin) for await (const chunk of stdin) await send(COMMAND_FRAME.stdin, chunk as Buffer)
  await send(COMMAND_FRAME.stdinEnd)
}

async function receive(wire: Duplex, streams: CommandStreams): Promise<CommandEnd | 'reader_gone'> {
  const outputs = { [COMMAND_FRAME.stdout]: streams.stdout, [COMMAND_FRAME.stderr]: streams.stderr }
  const endText = createFrameText()
  let end: CommandEnd | undefined
  let parts: { readonly output: Writable; readonly bytes: Uint8Array }[] = []
  const read = createCommandFrameReader((kind, bytes, isLast) => {
    if (kind === COMMAND_FRAME.exit) {
      const text = endText(bytes, isLast)
      if (text !== undefined) end = CommandEnd.parse(JSON.parse(text))
    } else if (kind === COMMAND_FRAME.stdout || kind === COMMAND_FRAME.stderr) {
      parts.push({ output: outputs[kind], bytes })
    }
  })
  try {
    for await (const chunk of wire) {
      read(chunk as Buffer)
      const written = parts
      parts = []
      for (const { output, bytes } of written) {
        if (await write(output, bytes)) continue
        // As for SIGPIPE: nobody wants more. Messages may go on without a reader.
        if (output === streams.stdout) return 'reader_gone'
      }
      if (end) return end
    }
  } catch (error) {
    throw isAppError(error) ? error : new AppError('tunnel_failed', { why: CUT }, { cause: error })
  } finally {
    wire.destroy()
  }
  throw new AppError('tunnel_failed', { why: CUT })
}

const CUT =
  'The connection to the session was cut: the session has ended, or the network failed. The command was ended with it.'

/** Resolves when the stream has passed the bytes on. @returns false if its reader has left */
async function write(output: Writable, bytes: Uint8Array): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  output.write(bytes, error => resolve(!error))
  return await promise
}
