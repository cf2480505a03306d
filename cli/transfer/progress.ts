import { counted } from '../counted.ts'
import { printable } from '../output.ts'

const EVERY_MS = 200

/** Progress of a transfer: one line on stderr if that is a terminal, else nothing. */
export interface Progress extends Disposable {
  bytes(count: number): void
  file(): void
  say(note: string): void
}

export function showProgress(what: string, isShown = process.stderr.isTTY): Progress {
  let bytes = 0
  let files = 0
  let note = ''
  let shownAt = 0
  const beganAt = performance.now()
  const show = () => {
    const now = performance.now()
    if (!isShown || now - shownAt < EVERY_MS) return
    shownAt = now
    const perSecond = bytes / Math.max(0.001, (now - beganAt) / 1000)
    const line = `${what} ${counted(files, 'file')}, ${sizeText(bytes)}, ${sizeText(perSecond)}/s${note && `, ${note}`}`
    process.stderr.write(`\r\u001b[K${line}`)
  }
  return {
    bytes(count) {
      bytes += count
      note = ''
      show()
    },
    file() {
      files++
      show()
    },
    say(text) {
      note = printable(text)
      show()
    },
    [Symbol.dispose]() {
      if (isShown && shownAt > 0) process.stderr.write('\r\u001b[K')
    },
  }
}

export function sizeText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return `${(bytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power] ?? 'B'}`
}
