import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { createKeyedMutex } from '#base/mutex'
import { LOG_PART_BYTES, type RequestReply } from '#agent/contract'
import { AppError, because } from '#manager/contract'
import { engineFileMib } from '../docker/container-config.ts'
import { createDemuxer } from '../docker/demux.ts'
import { type EngineClient, isMissing } from '../docker/engine-client.ts'
import { shortageAt } from '../limits/free-space.ts'
import { unlessFull } from '../unless-full.ts'

const pack = promisify(gzip)

/**
 * Logs of ended kernels, below DATA/agent/logs: the engine loses a log with its container, and the database keeps only the end.
 *
 *     <kernel>/7.gz          a part of about a megabyte that begins with a line; the numbers of the first parts are missing if the log was longer
 *     <kernel>/cut           the engine itself may have dropped older lines
 *     <kernel>.making/       until a log is complete: a copy that was interrupted is made again, because the container is still there
 */
export interface KeptLogs {
  /** Size of the log that engine and agent keep of each kernel, in MiB. */
  readonly mib: number
  /** Copies the log of an ended container, replacing the stored log of the kernel. @throws `disk_full`; errors of the engine */
  keep(kernelId: string, containerId: string): Promise<void>
  /** Safe to repeat. */
  discard(kernelId: string): Promise<void>
  /** @throws `files_gone` */
  read(kernelId: string, part?: number): Promise<RequestReply<'read_kept_log'>>
  /** Removes logs after their retention, or all that are older than an hour when space is short. */
  sweep(nowMs: number): Promise<void>
}

export interface KeptLogsOptions {
  readonly engine: EngineClient
  /** DATA/agent, absolute. */
  readonly directory: string
  /** 0: nothing is kept. */
  readonly logMib: number
  readonly freeSpaceFloorBytes: number
  readonly scratchRetentionMs: number
}

const MAKING = '.making'
const CUT = 'cut'
/** Longest time that a kernel's end waits for its log. */
const COPY_MS = 25_000
/** Below this multiple of the free-space floor, logs and homes are kept only briefly. */
const TIGHT = 2
const HOUR_MS = 3_600_000
/** The engine writes each line as JSON with its time, which adds so many bytes to the text. */
const ENGINE_LINE_BYTES = 69

export function createKeptLogs(options: KeptLogsOptions): KeptLogs {
  const { engine, logMib, freeSpaceFloorBytes, scratchRetentionMs } = options
  const directory = join(options.directory, 'logs')
  const limitBytes = logMib * 2 ** 20
  const pathOf = (kernelId: string) => join(directory, kernelId)
  // Somebody may read a log at the moment at which its kernel is taken down.
  const inTurn = createKeyedMutex()

  /** @returns whether parts are missing before the existing ones */
  async function writeParts(making: string, parts: AsyncIterable<Buffer>): Promise<boolean> {
    const sizes: number[] = []
    let [dropped, kept, onEngine] = [0, 0, 0]
    for await (const part of parts) {
      sizes.push(part.length)
      kept += part.length
      onEngine += part.length + countLines(part) * ENGINE_LINE_BYTES
      await writeFile(join(making, `${sizes.length}.gz`), await pack(part, { level: 1 }), { mode: 0o600 })
      for (let first = sizes[dropped] ?? 0; kept - first >= limitBytes; first = sizes[dropped] ?? 0) {
        kept -= first
        await rm(join(making, `${++dropped}.gz`), { force: true })
      }
    }
    // When the engine begins a new file, it drops its oldest, of three.
    return dropped > 0 || onEngine >= 2 * engineFileMib(logMib) * 2 ** 20
  }

  async function copy(kernelId: string, containerId: string): Promise<void> {
    const [path, making] = [pathOf(kernelId), pathOf(kernelId) + MAKING]
    if (limitBytes === 0) return rm(path, { recursive: true, force: true })
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const shortage = await shortageAt(directory, freeSpaceFloorBytes)
      if (shortage) throw new AppError('disk_full', shortage)
      await rm(making, { recursive: true, force: true })
      await mkdir(making, { mode: 0o700 })
      const signal = AbortSignal.timeout(COPY_MS)
      const log = { stdout: true, stderr: true, follow: true, abortSignal: signal } as const
      const stream = await engine.streams.getContainer(containerId).logs(log)
      const isCut = await writeParts(making, partsOf(stream as AsyncIterable<Buffer>))
      signal.throwIfAborted()
      if (isCut) await writeFile(join(making, CUT), '')
      await rm(path, { recursive: true, force: true })
      await rename(making, path)
    } catch (error) {
      // The log of an earlier run must not be taken for this one. If the container is gone, its log was copied before.
      const old = isMissing(error) ? [making] : [making, path]
      // The first error is the one to report.
      for (const left of old) await rm(left, { recursive: true, force: true }).catch(() => undefined)
      throw unlessFull(error, directory)
    }
  }

  return {
    mib: logMib,
    keep: (kernelId, containerId) => inTurn(kernelId, () => copy(kernelId, containerId)),
    discard: kernelId => inTurn(kernelId, () => rm(pathOf(kernelId), { recursive: true, force: true })),
    async read(kernelId, part) {
      const gone = (cause: unknown) => new AppError('files_gone', because('log_not_kept'), { cause })
      const path = pathOf(kernelId)
      const names = await readdir(path).catch((error: unknown) => {
        throw gone(error)
      })
      const numbers = names.flatMap(name => /^(\d+)\.gz$/.exec(name)?.[1] ?? []).map(Number)
      const at = part ?? Math.min(...numbers)
      const packed = await readFile(join(path, `${at}.gz`)).catch((error: unknown) => {
        throw gone(error)
      })
      return {
        packed: packed.toString('base64'),
        next: numbers.includes(at + 1) ? at + 1 : null,
        truncated: names.includes(CUT),
      }
    },
    async sweep(nowMs) {
      const names = await readdir(directory).catch(() => [])
      for (const name of names) {
        const path = join(directory, name)
        const changed = (await stat(path).catch(() => undefined))?.mtimeMs ?? nowMs
        const age = nowMs - changed
        const isTight = async () => (await shortageAt(directory, freeSpaceFloorBytes, TIGHT)) !== undefined
        if (age >= scratchRetentionMs + HOUR_MS || (age >= Math.min(HOUR_MS, scratchRetentionMs) && (await isTight())))
          await rm(path, { recursive: true, force: true })
      }
    },
  }
}

function countLines(text: Buffer): number {
  let count = 0
  for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) count++
  return count
}

/** Splits the text of a log into parts of whole lines, unless a line is longer than a part. */
async function* partsOf(log: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = []
  const add = (piece: Buffer) => void pieces.push(Buffer.from(piece))
  const split = createDemuxer({ stdout: add, stderr: add })
  for await (const chunk of log) {
    split(chunk)
    if (pieces.reduce((sum, { length }) => sum + length, 0) < LOG_PART_BYTES) continue
    let text = Buffer.concat(pieces)
    while (text.length >= LOG_PART_BYTES) {
      const end = endOfPart(text)
      yield text.subarray(0, end)
      text = text.subarray(end)
    }
    pieces = [text]
  }
  const rest = Buffer.concat(pieces)
  if (rest.length > 0) yield rest
}

/** Where a part ends: after its last line, or else before an incomplete character. */
function endOfPart(text: Buffer): number {
  const lineEnd = text.lastIndexOf(10, LOG_PART_BYTES - 1)
  if (lineEnd >= 0) return lineEnd + 1
  let end = LOG_PART_BYTES
  while (end > LOG_PART_BYTES - 4 && ((text[end] ?? 0) & 0xc0) === 0x80) end--
  return end
}
