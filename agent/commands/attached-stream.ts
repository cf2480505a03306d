import { Duplex } from 'node:stream'
import {
  COMMAND_FRAME,
  COMMAND_SIGNALS,
  type CommandEnd,
  commandFrameHeader,
  type CommandSignal,
  type CommandStream,
  createCommandFrameReader,
  createFrameText,
} from '#manager/contract'
import { type RunningCommand } from './running-command.ts'

const MOST_UNREAD = 4 * 1024 * 1024

/** A command that is started with this function for its output. */
export type StartAttached = (onOutput: (stream: CommandStream, bytes: Buffer) => void) => Promise<RunningCommand>

/**
 * The session's end of an attached command: frames of `manager/contract/sessions/command-stream.ts`. Both directions have backpressure, so nothing is
 * lost or kept. A stream that breaks kills the command.
 */
export function attachedStream(start: StartAttached): Duplex {
  let command: RunningCommand | undefined
  let isDone = false

  const stream = new Duplex({
    allowHalfOpen: true,
    read: () => command?.resume(),
    write: (chunk: Buffer, _encoding, done) => {
      started.then(
        running => {
          if (isDone) done()
          else take(running, chunk, done)
        },
        () => done(),
      )
    },
    final: done => done(),
    destroy: (error, done) => {
      if (!isDone) started.then(running => running.kill('killed')).catch(() => undefined)
      isDone = true
      done(error)
    },
  })

  const started = start((name, bytes) => {
    // The engine's buffer is used again for the next piece only after this one has been copied here.
    const frame = Buffer.concat([commandFrameHeader(COMMAND_FRAME[name], bytes.length), bytes])
    // A command that is being killed is read without backpressure.
    if (isDone || stream.readableLength > MOST_UNREAD) return
    if (!stream.push(frame)) command?.pause()
  }).then(running => {
    command = running
    void running.ended.then(finish)
    return running
  })
  started.catch(() => finish({ reason: 'lost', exitCode: null }))

  function finish(end: CommandEnd): void {
    if (isDone) return
    isDone = true
    const text = Buffer.from(JSON.stringify(end))
    stream.push(Buffer.concat([commandFrameHeader(COMMAND_FRAME.exit, text.length), text]))
    stream.push(null)
  }

  const signalName = createFrameText()
  /** Frames of the chunk that is being taken. */
  let parts: Uint8Array[] = []
  let endsInput = false
  const read = createCommandFrameReader((kind, part, isLast) => {
    if (kind === COMMAND_FRAME.stdin && part.length > 0) parts.push(part)
    if (kind === COMMAND_FRAME.stdinEnd) endsInput = true
    if (kind !== COMMAND_FRAME.signal) return
    const name = signalName(part, isLast)
    if (name === 'KILL') command?.kill('killed')
    else if (isSignal(name)) command?.signal(name)
  })

  function take(running: RunningCommand, chunk: Buffer, done: (error?: Error) => void): void {
    parts = []
    try {
      read(chunk)
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)))
      return
    }
    const end = () => {
      if (endsInput) running.endInput()
      done()
    }
    const bytes = parts.length === 1 ? parts[0] : Buffer.concat(parts)
    if (!bytes || bytes.length === 0) end()
    else running.write(bytes, end)
  }

  return stream
}

function isSignal(name: string | undefined): name is CommandSignal {
  return COMMAND_SIGNALS.some(one => one === name)
}
