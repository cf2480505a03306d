import { defineStore } from 'pinia'
import { computed, shallowRef, watch } from 'vue'
import { AppError, isAppError, type FolderId } from '#manager/contract'
import { secretHeaders } from '../../../api/origin-secret.ts'
import { useServices } from '../../../services.ts'
import { createFrameTask } from '../../../ui/frame-task.ts'
import { useNotifications } from '../../../ui/useNotifications.ts'
import { useNotices } from '../../notifications/useNotices.ts'
import { useAccount } from '../../../data/account/useAccount.ts'
import { joinPath } from '../../../data/files/file-path.ts'
import { createConflictQuestions } from './conflict-questions.ts'
import { type FileSource } from './file-source.ts'
import { hashFile } from './hash-file.ts'
import { isPanelOpen } from './panel-state.ts'
import { runTogether, type TogetherDeps } from './run-together.ts'
import { sayIfOver } from './say-if-over.ts'
import { paramsOf, sendFile } from './send-file.ts'
import { createTransferClock } from './transfer-clock.ts'
import { is, isPending, nextToStart, shownFirst, totalsOf, type Batch, type TransferItem } from './transfer-item.ts'
import { TUS } from './upload-file.ts'
import { t } from '../../../words/en/transfers.ts'

const PLACES = 4
/** Files of one request. */
const MOST_TOGETHER = 250
const SHOWN = 100

/**
 * The uploads of this tab. They belong to the tab that began them, survive navigation within it, and continue after lost
 * connections. The manager lets one tab at a time continue an upload (`upload_locked`).
 */
export const useTransfers = defineStore('transfers', () => {
  const { api, host, secret } = useServices()
  const account = useAccount()
  const notifications = useNotifications()
  const notices = useNotices()
  const items: TransferItem[] = []
  const revision = shallowRef(0)
  const { question, decide } = createConflictQuestions()
  /** The folder into which a file was uploaded last; changes with every file. */
  const arrived = shallowRef<{ readonly folderId: FolderId; readonly path: string } | null>(null)
  let nextId = 1
  /** Many files may be refused at once; one call finds out whether there is a sign-in again. */
  let signingIn: Promise<unknown> | undefined

  const frame = createFrameTask(() => {
    revision.value += 1
  })
  const totals = computed(() => (void revision.value, totalsOf(items)))
  const shown = computed(
    () => (
      void revision.value,
      shownFirst(items, SHOWN).map(row => (row.kind === 'file' ? { ...row, item: { ...row.item } } : row))
    ),
  )
  const clock = createTransferClock({
    isAnyPending: () => items.some(isPending),
    bytesSent: () => totals.value.bytesSent,
  })
  const headers = () => secretHeaders(secret.get())
  const sending = { api, inPieces: host.isDesktop, headers, onChange: () => frame.soon() }

  function add(
    folderId: FolderId,
    directory: string,
    sources: readonly FileSource[],
    address: string | null = null,
  ): void {
    if (sources.length === 0) return
    if (!items.some(item => isPending(item))) clearOver()
    const batch: Batch = { folderId, onConflict: null, asking: Promise.resolve(null) }
    for (const source of sources)
      items.push({
        id: nextId++,
        batch,
        path: joinPath(directory, source.path),
        source,
        size: 0,
        sent: 0,
        status: 'queued',
        error: null,
        onConflict: 'fail',
        address,
        running: null,
        isSingle: false,
        again: false,
        group: null,
      })
    isPanelOpen.value = true
    pump()
  }

  function pump(): void {
    for (const group of nextToStart(items, PLACES, MOST_TOGETHER)) {
      for (const item of group) item.status = 'running'
      const [first, ...more] = group
      if (more.length > 0) void runTogether(group, together)
      else if (first) void run(first)
    }
    if (items.some(isPending)) clock.start()
    frame.soon()
  }

  const together: TogetherDeps = {
    hash: hashFile,
    headers,
    onChange: () => frame.soon(),
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
    arrived.value = { folderId: item.batch.folderId, path: item.path }
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
      // The page asks for the password; the upload goes on when there is a sign-in again.
      item.status = 'paused'
      signingIn ??= api.me().finally(() => (signingIn = undefined))
      await signingIn.then(
        () => resume(item.id),
        () => undefined,
      )
      return
    }
    if (isAppError(error) && error.code === 'file_exists') {
      item.status = 'conflict'
      frame.soon()
      const choice = await decide(item)
      if (choice === 'skip') await drop(item)
      else if (choice !== null) {
        item.onConflict = choice
        item.again = false
        // Bytes that arrived stay; the answer to the conflict is sent with the end.
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

  const find = (id: number) => items.find(item => item.id === id)
  async function pause(id: number): Promise<void> {
    const item = find(id)
    if (!item || !isPending(item) || item.status === 'checking') return
    item.status = 'paused'
    frame.soon()
    await item.running?.stop()
    pump()
  }
  function resume(id: number): void {
    const item = find(id)
    if (!item || (item.status !== 'paused' && item.status !== 'failed')) return
    // The bytes of a damaged upload are gone at the server.
    if (isAppError(item.error) && ['upload_damaged', 'upload_not_found'].includes(item.error.code)) item.address = null
    item.status = 'queued'
    item.error = null
    pump()
  }
  async function cancel(id: number): Promise<void> {
    const item = find(id)
    if (!item || item.status === 'done') return
    await drop(item)
    pump()
  }
  const each = (status: (item: TransferItem) => boolean, act: (id: number) => unknown) => {
    for (const item of items.filter(status)) act(item.id)
  }

  function clearOver(): void {
    const rest = items.filter(({ status }) => status !== 'done' && status !== 'cancelled')
    items.splice(0, items.length, ...rest)
    frame.soon()
  }
  // Uploads of one person are never continued as another.
  watch(
    () => account.user?.id,
    (now, before) => {
      if (before === undefined || now === before) return
      for (const item of items) {
        item.status = 'cancelled'
        void item.running?.stop()
      }
      items.length = 0
      isPanelOpen.value = false
      frame.soon()
    },
  )

  return {
    totals,
    shown,
    rate: clock.rate,
    question,
    arrived,
    add,
    pause,
    resume,
    cancel,
    pauseAll: () => each(item => isPending(item), pause),
    resumeAll: () => each(({ status }) => status === 'paused' || status === 'failed', resume),
    /** Acts on several, for example those of a directory; what an action is not for is left out. */
    forAll: (ids: readonly number[], act: 'pause' | 'resume' | 'cancel') => {
      for (const id of ids) void { pause, resume, cancel }[act](id)
    },
    cancelAll: () => each(({ status }) => status !== 'done', cancel),
    clearOver,
    /** Addresses of uploads that this tab holds, so that they are not offered as unfinished. */
    holds: (id: string) => revision.value >= 0 && items.some(({ address }) => address?.endsWith(id) ?? false),
  }
})
