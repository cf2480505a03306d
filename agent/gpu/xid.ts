import { constants, type FileHandle, open } from 'node:fs/promises'
import { uptime } from 'node:os'
import { type Because, because } from '#manager/contract'

/**
 * After these errors a GPU is unusable until a reset. All others leave it usable: most are the fault of one program (13, 31, 43, 45, 94), or
 * are told by other figures of the driver (63: a row that is replaced at the next reset).
 * @see https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html
 */
const FATAL = new Set([46, 48, 62, 64, 74, 79, 95, 110, 119, 120, 140, 143])
/** The driver says what has to be done about the GPU, `GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)`. */
const RECOVERY_ACTION = 154

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
            if (problem) found.set(address, problem)
            else found.delete(address)
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

/**
 * @param log records of /dev/kmsg: `priority,sequence,microseconds,-;NVRM: Xid (PCI:0000:3b:00): 79, …`
 * @returns the errors in their order; null for a GPU that the driver has recovered, so that its earlier errors are over
 */
export function parseXids(log: string, sinceSeconds: number): { address: string; problem: Because | null }[] {
  return log.split('\n').flatMap(line => {
    const match = /^\d+,\d+,(\d+),[^;]*;NVRM: Xid \(PCI:([0-9a-f:]+)(?:\.\d)?\): (\d+), ?(.*)$/i.exec(line)
    if (!match) return []
    const [, micros = '', address = '', xid = '', text = ''] = match
    if (Number(micros) / 1e6 < sinceSeconds) return []
    const isRecovered = Number(xid) === RECOVERY_ACTION && / to 0x0\b/.test(text)
    if (!isRecovered && Number(xid) !== RECOVERY_ACTION && !FATAL.has(Number(xid))) return []
    const what = (text.split(', ').at(-1) ?? '').replace(/[.]?$/, '.')
    const problem = isRecovered ? null : because('gpu_xid', { xid, text: what })
    return [{ address: address.toLowerCase(), problem }]
  })
}
