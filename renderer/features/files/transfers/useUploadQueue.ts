import { AppError, isAppError } from '#manager/contract'
import { secretHeaders } from '../../../api/origin-secret.ts'
import { useServices } from '../../../services.ts'
import { useNotifications } from '../../../ui/useNotifications.ts'
import { useNotices } from '../../notifications/useNotices.ts'
import { createConflictQuestions } from './conflict-questions.ts'
import { hashFile } from './hash-file.ts'
import { runTogether, type TogetherDeps } from './run-together.ts'
import { sayIfOver } from './say-if-over.ts'
import { paramsOf, sendFile } from './send-file.ts'
import { is, isPending, nextToStart, type TransferItem } from './transfer-item.ts'
import { TUS } from './upload-file.ts'
import { t } from '../../../words/en/transfers.ts'

const PLACES = 4
/** Largest number of files in one request. */
const MOST_TOGETHER = 250

interface QueueEvents {
  /** Called when something shown on the page has changed. */
  readonly onChange: () => void
  /** Called when there is something to send. */
  readonly onBusy: () => void
  /** Called when all bytes of an upload have arrived and are verified. */
  readonly onDone: (item: TransferItem) => void
}

/**
 * Sends the uploads of this tab, a few at a time, in their order.
 *
 * @param items all uploads; the queue changes their statuses in place
 */
export function useUploadQueue(items: readonly TransferItem[], { onChange, onBusy, onDone }: QueueEvents) {
  const { api, host, secret } = useServices()
  const notifications = useNotifications()
  const notices = useNotices()
  const { question, decide } = createConflictQuestions()
  /** Many files may be refused at once; a single call finds out whether the sign-in is valid again. */
  let signingIn: Promise<unknown> | undefined
  const headers = () => secretHeaders(secret.get())
  const sending = { api, inPieces: host.isDesktop, headers, onChange }

  function pump(): void {
    for (const group of nextToStart(items, PLACES, MOST_TOGETHER)) {
      for (const item of group) item.status = 'running'
      const [first, ...more] = group
      if (more.length > 0) void runTogether(group, together)
      else if (first) void run(first)
    }
    if (items.some(isPending)) onBusy()
    onChange()
  }

  const together: TogetherDeps = {
    hash: hashFile,
    headers,
    onChange,
    onDone: done,
    refused,
    onFree() {
      pump()
      sayIfOver(items, notices)
    },
  }

  function done(item: TransferItem): void {
    item.status = 'done'
    item.sent = item.size
    onDone(item)
  }

  async function run(item: TransferItem): Promise<void> {
    try {
      const file = await item.source.open().catch((cause: unknown) => {
        throw new AppError('file_not_found', { why: t('unreadable') }, { cause })
      })
      item.size = file.size
      if (!is(item, 'running')) return
      await sendFile(sending, item, file)
      if (!is(item, 'checking')) return
      done(item)
    } catch (error) {
      if (is(item, 'paused', 'cancelled')) return
      await refused(item, error)
    } finally {
      item.running = null
      pump()
      sayIfOver(items, notices)
    }
  }

  async function refused(item: TransferItem, error: unknown): Promise<void> {
    if (isAppError(error) && error.code === 'not_signed_in') {
      // The page asks for the password; the upload continues after the sign-in.
      item.status = 'paused'
      signingIn ??= api.me().finally(() => (signingIn = undefined))
      await signingIn.then(
        () => resume(item),
        () => undefined,
      )
      return
    }
    if (isAppError(error) && error.code === 'file_exists') {
      item.status = 'conflict'
      onChange()
      const choice = await decide(item)
      if (choice === 'skip') await drop(item)
      else if (choice !== null) {
        item.onConflict = choice
        item.again = false
        // Bytes that have arrived are kept; the answer to the conflict is sent at the end.
        item.status = 'queued'
      }
      return
    }
    item.status = 'failed'
    item.error = error
  }

  async function drop(item: TransferItem): Promise<void> {
    item.status = 'cancelled'
    await item.running?.stop()
    if (item.address !== null)
      await api.cancelUpload({ params: paramsOf(item), headers: TUS }).catch((error: unknown) => {
        // An upload that cannot be cancelled expires by itself; only a failure that the user can change deserves a message.
        if (isAppError(error) && error.code !== 'upload_not_found' && error.code !== 'unavailable')
          notifications.error(error)
      })
  }

  async function pause(item: TransferItem): Promise<void> {
    if (!isPending(item) || item.status === 'checking') return
    item.status = 'paused'
    onChange()
    await item.running?.stop()
    pump()
  }
  function resume(item: TransferItem): void {
    if (!is(item, 'paused', 'failed')) return
    // The server no longer has the bytes of a damaged upload.
    if (isAppError(item.error) && ['upload_damaged', 'upload_not_found'].includes(item.error.code)) item.address = null
    item.status = 'queued'
    item.error = null
    pump()
  }
  async function cancel(item: TransferItem): Promise<void> {
    if (item.status === 'done') return
    await drop(item)
    pump()
  }

  return { question, pump, pause, resume, cancel }
}
