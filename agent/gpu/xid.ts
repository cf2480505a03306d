import { constants, type FileHandle, open } from 'node:fs/promises'
import { uptime } from 'node:os'
import { type Because, because } from '#manager/contract'

/** After these errors a GPU is unusable until a reset; other errors are the fault of one program. */
const FATAL = new Set([46, 48, 62, 64, 74, 79, 95, 119, 120, 140])

export interface XidWatch extends AsyncDisposable {
  /** Problems logged by the kernel since the start of the watch, by PCI address: `0000:3b:00`. */
  read(): Promise<ReadonlyMap<string, Because>>
}

/**
 * Watches for fatal errors that the driver reports only in the kernel log. An agent that may not read the log (not root, not Linux) detects
 * none. Entries from before the start are ignored: the GPU may have been reset since.
 */
export function watchXids(path = '/dev/kmsg', startedAtSeconds = uptime()): XidWatch {
  const found = new Map<string, Because>()
  let opening: Promise<FileHandle | undefined> | undefined
  const buffer = Buffer.alloc(16_384)

  return {
    async read() {
      opening ??= open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined)
      const file = await opening
      while (file) {
        try {
          const { bytesRead } = await file.read(buffer)
          if (bytesRead === 0) break
          for (const { address, problem } of parseXids(buffer.toString('utf8', 0, bytesRead), startedAtSeconds))
            found.set(address, problem)
        } catch (error) {
          // EPIPE: older records were overwritten before they were read. EAGAIN: there are no more records.
          if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) break
        }
      }
      return found
    },
    async [Symbol.asyncDispose]() {
      await (await opening)?.close()
    },
  }
}

/** @param log records of /dev/kmsg: `priority,sequence,microseconds,-;NVRM: Xid (PCI:0000:3b:00): 79, …` */
export function parseXids(log: string, sinceSeconds: number): { address: string; problem: Because }[] {
  return log.split('\n').flatMap(line => {
    const match = /^\d+,\d+,(\d+),[^;]*;NVRM: Xid \(PCI:([0-9a-f:]+)(?:\.\d)?\): (\d+), ?(.*)$/i.exec(line)
    if (!match) return []
    const [, micros = '', address = '', xid = '', text = ''] = match
    if (Number(micros) / 1e6 < sinceSeconds || !FATAL.has(Number(xid))) return []
    const what = (text.split(', ').at(-1) ?? '').replace(/[.]?$/, '.')
    return [
      {
        address: address.toLowerCase(),
        problem: because('gpu_xid', { xid, text: what }),
      },
    ]
  })
}
