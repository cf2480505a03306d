import { randomBytes } from 'node:crypto'
import { type Duplex } from 'node:stream'
import type Docker from 'dockerode'
import { type CommandEnd, type CommandReason, type CommandSignal, type CommandStream } from '#manager/contract'
import { createDemuxer } from '../docker/demux.ts'
import { type ExecPlace, openExec } from '../docker/session-exec.ts'
import { COMMAND_VARIABLE, type CommandInput, commandOf, lifelineOf } from './command-scripts.ts'
import { createMarkedStream } from './end-marker.ts'

export interface Place extends ExecPlace {
  readonly docker: Pick<Docker, 'getContainer'>
}

export interface RunningCommand {
  /** The end, after the last output. Never rejects. */
  readonly ended: Promise<CommandEnd>
  /** Bytes for standard input. @param done called when more may come, also after the end */
  write(bytes: Uint8Array, done: () => void): void
  endInput(): void
  /** For the process group of the command. */
  signal(name: CommandSignal): void
  /** Kills everything that the command has started. */
  kill(reason: CommandReason): void
  /** Backpressure: the command waits when the buffers on the way are full. */
  pause(): void
  resume(): void
}

/** The kernel kills at once; an engine that does not tell of it within this time is not waited for. */
const KILL_WAIT_MS = 10_000
/** A process id and a line feed. */
const MOST_PID = 16

/**
 * Runs a command in a container by two execs: the command, and its lifeline (`command-scripts.ts`), so that signals reach it, and so that it
 * dies when this process does. That takes no program of the image.
 *
 * Threat model: the command belongs to a hostile user, and so do the processes beside it, which may write to its streams and end its
 * helpers. They can only lie about a command of the same user. Nothing is kept here, and every wait for them has an end.
 *
 * @throws errors of the engine
 */
export async function runCommand(
  place: Place,
  input: CommandInput,
  onOutput: (stream: CommandStream, bytes: Buffer) => void,
): Promise<RunningCommand> {
  const { docker } = place
  const marker = Buffer.from(`\u001b]berth-end ${randomBytes(16).toString('hex')}\u0007`, 'latin1')
  const words = commandOf(input, marker.toString('latin1'))
  const raw = await openExec(docker, place, words, [`${COMMAND_VARIABLE}=${input.commandId}`])

  const { promise: ended, resolve } = Promise.withResolvers<CommandEnd>()
  let isOver = false
  let killed: CommandReason | undefined
  let pidText = ''
  let pid: number | undefined
  let killTimer: NodeJS.Timeout | undefined
  const marked = { stdout: createMarkedStream(marker), stderr: createMarkedStream(marker) }

  function finish(exitCode: number | undefined): void {
    if (isOver) return
    isOver = true
    clearTimeout(killTimer)
    const end: CommandEnd =
      killed === undefined && exitCode !== undefined
        ? { reason: 'exited', exitCode }
        : { reason: killed ?? 'lost', exitCode: null }
    resolve(end)
    // Programs that the command has left behind may hold its streams.
    setTimeout(() => raw.destroy(), KILL_WAIT_MS).unref()
  }

  /** Takes the process id off the beginning of standard error. */
  function afterPid(chunk: Buffer): Buffer {
    if (pid !== undefined) return chunk
    const line = chunk.indexOf(0x0a)
    pidText += chunk.toString('latin1', 0, line < 0 ? chunk.length : line)
    if (line < 0 && pidText.length < MOST_PID) return Buffer.alloc(0)
    pid = /^[1-9]\d{0,9}$/.test(pidText) ? Number(pidText) : 0
    // The engine itself has written another text: it could not start the parent.
    if (pid === 0) return Buffer.concat([Buffer.from(pidText, 'latin1'), chunk.subarray(Math.max(0, line))])
    lifeline.open()
    return chunk.subarray(line + 1)
  }

  const lifeline = createLifeline(async () => {
    if (!pid) throw new Error('the command has no process')
    return await openExec(docker, place, lifelineOf(pid, input.commandId))
  })

  const push = createDemuxer({
    stdout: chunk => pass('stdout', chunk),
    stderr: chunk => pass('stderr', afterPid(chunk)),
  })
  function pass(stream: CommandStream, chunk: Buffer): void {
    const bytes = marked[stream].push(chunk)
    if (bytes.length > 0 && !isOver) onOutput(stream, bytes)
  }
  raw.on('data', (chunk: Buffer) => {
    push(chunk)
    const { after } = marked.stderr
    if (isOver || after === undefined || marked.stdout.after === undefined) return
    finish(Number.parseInt(after, 10))
    lifeline.say('done')
    lifeline.end()
    raw.resume()
  })
  raw.on('error', () => undefined)
  raw.on('close', () => finish(undefined))
  raw.on('end', () => {
    finish(undefined)
    raw.destroy()
  })

  return {
    ended,
    write(bytes, done) {
      if (isOver || raw.destroyed || raw.writableEnded) done()
      else raw.write(bytes, () => done())
    },
    endInput() {
      if (!raw.writableEnded && !raw.destroyed) raw.end()
    },
    signal: name => lifeline.say(name),
    kill(reason) {
      if (isOver || killed !== undefined) return
      killed = reason
      // The command may go on writing, and nobody reads that: its end must not wait for a reader.
      raw.resume()
      lifeline.end()
      killTimer = setTimeout(() => {
        raw.destroy()
        finish(undefined)
      }, KILL_WAIT_MS)
    },
    pause: () => void raw.pause(),
    resume: () => void raw.resume(),
  }
}

/** Lines for the second exec, which is opened once the first has told its process id. */
function createLifeline(open: () => Promise<Duplex>) {
  let opened: Promise<Duplex> | undefined
  let hasEnded = false
  let isNeeded = false
  const lines: string[] = []

  /** A lifeline that a program of the session has ended is opened again for the next line, or to kill. */
  function connect(): void {
    opened ??= open().then(
      stream => {
        stream.on('error', () => undefined).on('close', () => (opened = undefined))
        stream.on('end', () => stream.destroy())
        stream.resume()
        for (const line of lines.splice(0)) stream.write(`${line}\n`)
        if (hasEnded) stream.end()
        return stream
      },
      (error: unknown) => {
        opened = undefined
        throw error
      },
    )
    // The engine or the container is gone, and the command with it.
    opened.catch(() => undefined)
  }

  return {
    open() {
      isNeeded = true
      connect()
    },
    say(line: string) {
      if (hasEnded) return
      lines.push(line)
      if (!isNeeded) return
      connect()
      opened?.then(
        stream => {
          for (const waiting of lines.splice(0)) stream.write(`${waiting}\n`)
        },
        () => undefined,
      )
    },
    end() {
      if (hasEnded) return
      hasEnded = true
      if (!isNeeded) return
      connect()
      opened?.then(
        stream => void stream.end(),
        () => undefined,
      )
    },
  }
}
