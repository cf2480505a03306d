import { defineStore } from 'pinia'
import { computed, shallowRef, watch } from 'vue'
import { type FolderId } from '#manager/contract'
import { createFrameTask } from '../../../ui/frame-task.ts'
import { useAccount } from '../../../data/account/useAccount.ts'
import { joinPath } from '../../../data/files/file-path.ts'
import { type FileSource } from './file-source.ts'
import { isPanelOpen } from './panel-state.ts'
import { createTransferClock } from './transfer-clock.ts'
import { isPending, shownFirst, totalsOf, type Batch, type TransferItem } from './transfer-item.ts'
import { useUploadQueue } from './useUploadQueue.ts'

const SHOWN = 100

/**
 * The uploads of this tab. They belong to the tab that began them, survive navigation within it, and continue after lost
 * connections. The manager lets one tab at a time continue an upload (`upload_locked`).
 */
export const useTransfers = defineStore('transfers', () => {
  const account = useAccount()
  const items: TransferItem[] = []
  const revision = shallowRef(0)
  /** The last uploaded file and its folder; changes with every file. */
  const arrived = shallowRef<{ readonly folderId: FolderId; readonly path: string } | null>(null)
  let nextId = 1

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

  const { question, pump, pause, resume, cancel } = useUploadQueue(items, {
    onChange: () => frame.soon(),
    onBusy: () => clock.start(),
    onDone: ({ batch, path }) => (arrived.value = { folderId: batch.folderId, path }),
  })

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

  /** Applies an action to several uploads, for example those of a directory; uploads that it does not fit are skipped. */
  function forAll(ids: readonly number[], act: 'pause' | 'resume' | 'cancel'): void {
    for (const id of ids) {
      const item = items.find(each => each.id === id)
      if (item) void { pause, resume, cancel }[act](item)
    }
  }
  const each = (status: (item: TransferItem) => boolean, act: (item: TransferItem) => unknown) => {
    for (const item of items.filter(status)) act(item)
  }

  function clearOver(): void {
    const rest = items.filter(({ status }) => status !== 'done' && status !== 'cancelled')
    items.splice(0, items.length, ...rest)
    frame.soon()
  }
  // Uploads of one person are never continued by another.
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
    pause: (id: number) => forAll([id], 'pause'),
    resume: (id: number) => forAll([id], 'resume'),
    cancel: (id: number) => forAll([id], 'cancel'),
    pauseAll: () => each(item => isPending(item), pause),
    resumeAll: () => each(({ status }) => status === 'paused' || status === 'failed', resume),
    forAll,
    cancelAll: () => each(({ status }) => status !== 'done', cancel),
    clearOver,
    /** Whether this tab has this upload, so that it is not offered as unfinished. */
    holds: (id: string) => revision.value >= 0 && items.some(({ address }) => address?.endsWith(id) ?? false),
  }
})
