import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs'
import path from 'node:path'

/** Size at which a file is rotated, and number of older files that are kept. */
const LIMIT_BYTES = 5 * 2 ** 20
const KEPT = 3

/**
 * Log of the desktop app: `desktop.log`, and `desktop.1.log` (the youngest) to `desktop.3.log`, readable by their user only. Written
 * at once: the last lines before a crash matter, and there are few lines. A full disk loses lines, never the app.
 */
export function openLogFile(folder: string, limitBytes = LIMIT_BYTES): { write(line: string): void } {
  const file = path.join(folder, 'desktop.log')
  const older = (n: number) => path.join(folder, `desktop.${String(n)}.log`)
  let size = 0
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  } catch {
    // The first write will fail too, and is dropped.
  }

  const rotate = () => {
    for (let n = KEPT; n >= 1; n--) {
      const from = n === 1 ? file : older(n - 1)
      if (statSync(from, { throwIfNoEntry: false })) renameSync(from, older(n))
    }
    size = 0
  }
  return {
    write(line) {
      try {
        if (size > 0 && size + line.length > limitBytes) rotate()
        appendFileSync(file, line, { mode: 0o600 })
        size += Buffer.byteLength(line)
      } catch {
        // The line is on standard error too.
      }
    },
  }
}
