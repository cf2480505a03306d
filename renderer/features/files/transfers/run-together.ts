import { AppError, ERRORS, isAppError, MOST_BUNDLED_BYTES, type FolderId } from '#manager/contract'
import { type TransferItem, type TransferStatus } from './transfer-item.ts'
import { sendBundle, type BundledResult, type BundleSpec } from './upload-bundle.ts'
import { t } from '../../../words/en/transfers.ts'

/** Largest size of one bundle in bytes; files that do not fit wait for the next. */
const BUNDLE_BYTES = 8 * 1024 * 1024
/** Pauses before the next attempts; the last one repeats. */
const PAUSES_MS = [1_000, 2_000, 5_000, 15_000, 60_000] as const

export interface TogetherDeps {
  readonly hash: (file: File) => Promise<string>
  readonly headers: () => Readonly<Record<string, string>>
  /** Called when something shown on the page has changed. */
  readonly onChange: () => void
  readonly onDone: (item: TransferItem) => void
  /** Handles an error of one file; never rejects. */
  readonly refused: (item: TransferItem, error: unknown) => Promise<void>
  /** Called when an item no longer needs its slot. */
  readonly onFree: () => void
  /** Waits before the next attempt, or until the network is back or the signal fires. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
  readonly send?: (spec: BundleSpec) => Promise<BundledResult[]>
}

/** Reads the status at this moment: users and connections change it while a function waits. */
const is = (item: TransferItem, ...statuses: readonly TransferStatus[]) => statuses.includes(item.status)

interface Ready {
  readonly item: TransferItem
  readonly file: File
  readonly sha256: string
}

/**
 * Uploads small files of one batch in one request, and again after a lost connection. Files that turn out to be large go back to the queue, to be
 * sent by themselves. Pausing or cancelling one of the files ends the request, and the others go back to the queue.
 */
export async function runTogether(group: readonly TransferItem[], deps: TogetherDeps): Promise<void> {
  const { send = sendBundle, wait = untilOnline, headers, onChange, refused, onFree } = deps
  const cut = new AbortController()
  const stop = () => {
    cut.abort(new AppError('unavailable', { why: t('noAnswer') }))
    return Promise.resolve()
  }
  for (const item of group) {
    item.group = group
    item.running = { arrived: Promise.resolve(null), stop }
  }
  const settle = (item: TransferItem, result: BundledResult | undefined) => {
    item.running = null
    if (result && 'path' in result) deps.onDone(item)
    else void refused(item, result?.error).finally(onFree)
  }
  const ready = await readAll(group, deps)
  for (let attempt = 0; ; attempt++) {
    const rest = ready.filter(({ item }) => is(item, 'running', 'waiting'))
    const [first] = rest
    if (!first) break
    try {
      const results = await send({
        folderId: first.item.batch.folderId satisfies FolderId,
        files: rest.map(({ item, file, sha256 }) => ({
          file,
          header: {
            path: item.path,
            size: file.size,
            sha256,
            modifiedAt: new Date(file.lastModified).toISOString(),
            onConflict: item.onConflict,
            again: item.again,
          },
        })),
        headers,
        signal: cut.signal,
      })
      rest.forEach(({ item }, index) => settle(item, results[index]))
      break
    } catch (error) {
      // The answer may be lost although files were stored.
      for (const { item } of rest) item.again = true
      if (cut.signal.aborted) {
        for (const { item } of rest) if (is(item, 'running', 'waiting')) item.status = 'queued'
        break
      }
      if (!isAppError(error) || !ERRORS[error.code].retry) {
        for (const { item } of rest) settle(item, { error: isAppError(error) ? error : new AppError('internal', {}) })
        break
      }
      for (const { item } of rest) if (is(item, 'running')) item.status = 'waiting'
      onChange()
      await wait(PAUSES_MS[Math.min(attempt, PAUSES_MS.length - 1)] ?? 0, cut.signal)
      for (const { item } of rest) if (is(item, 'waiting')) item.status = 'running'
    }
  }
  for (const item of group) if (item.group === group) item.group = null
  onFree()
}

/** Opens and hashes the files that fit into one bundle; all others go back to the queue. */
async function readAll(group: readonly TransferItem[], { hash, refused, onFree }: TogetherDeps): Promise<Ready[]> {
  const ready: Ready[] = []
  let bytes = 0
  for (const item of group) {
    try {
      const file = await item.source.open()
      item.size = file.size
      if (!is(item, 'running')) continue
      if (file.size > MOST_BUNDLED_BYTES) item.isSingle = true
      if (item.isSingle || bytes + file.size > BUNDLE_BYTES) {
        item.status = 'queued'
        item.running = null
        continue
      }
      bytes += file.size
      ready.push({ item, file, sha256: await hash(file) })
    } catch (cause) {
      item.running = null
      if (!is(item, 'running')) continue
      void refused(item, new AppError('file_not_found', { why: t('unreadable') }, { cause })).finally(onFree)
    }
  }
  return ready
}

function untilOnline(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(timer)
      globalThis.removeEventListener('online', end)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    globalThis.addEventListener('online', end)
    signal.addEventListener('abort', end)
  })
}
