import { computed, onScopeDispose, shallowRef, watch } from 'vue'
import { type Folder, type FolderId, type Task } from '#manager/contract'
import { createPaced } from '../../api/paced.ts'
import { useServices } from '../../services.ts'
import { useNotifications } from '../../ui/useNotifications.ts'
import { useFolders } from '../../data/folders/useFolders.ts'
import { t } from '../../words/en/folders.ts'

const GATHER_MS = 100
const BUSY_MS = 1_000

/**
 * Copies that fill folders of the page, with their progress: also those that another tab or the command line began. Kept current by
 * the hints of their tasks.
 */
export function useClones() {
  const { api, events } = useServices()
  const store = useFolders()
  const notifications = useNotifications()
  /** The copy that fills each folder; null for a folder that somebody else fills, whose copy this person does not see. */
  const tasks = shallowRef<ReadonlyMap<FolderId, Task | null>>(new Map())
  const cancelling = shallowRef<ReadonlySet<FolderId>>(new Set())
  const filled = computed(() => (store.lists.ready.items ?? []).filter(({ cloning }) => cloning))
  const cancelled = new Set<FolderId>()

  async function fetchOne({ id }: Folder): Promise<readonly [FolderId, Task | null]> {
    const { items } = await api.listCopies({ params: { id } })
    return [id, items.find(({ status }) => status === 'running') ?? null]
  }

  const again = createPaced({
    gatherMs: GATHER_MS,
    busyMs: BUSY_MS,
    run: async () => {
      const answers = await Promise.allSettled(filled.value.map(fetchOne))
      tasks.value = new Map(answers.flatMap(answer => (answer.status === 'fulfilled' ? [answer.value] : [])))
      // A folder that was deleted meanwhile has no copies: the list of folders tells.
      return true
    },
  })

  /** Tells how a copy has ended; the server deletes the folder of one that failed. */
  function tellEnd({ id, name }: Folder): void {
    const found = store.byId.get(id)
    if (found) notifications.success(t('cloned', { name }))
    else if (!cancelled.has(id)) notifications.info(t('cloneFailed', { name }))
  }
  watch(filled, (now, before) => {
    if (store.lists.ready.items === null) return
    for (const folder of before) if (!now.some(({ id }) => id === folder.id)) tellEnd(folder)
  })
  watch(
    () => filled.value.map(({ id }) => id).join(),
    ids => {
      if (ids === '') tasks.value = new Map()
      else again.ask()
    },
    { immediate: true },
  )
  onScopeDispose(
    events.onHint(({ topic }) => {
      if (topic === 'task' && filled.value.length > 0) again.ask()
    }),
  )
  onScopeDispose(() => again.cancel())

  /** Ends the copy; the server deletes the folder with it. */
  async function cancel({ id, name }: Folder): Promise<void> {
    const task = tasks.value.get(id)
    if (!task || cancelling.value.has(id)) return
    cancelling.value = new Set([...cancelling.value, id])
    try {
      const { status } = await api.cancelCopy({ params: { id, taskId: task.id } })
      // A copy that another server runs ends a moment later.
      if (status !== 'cancelled' && status !== 'running') return
      cancelled.add(id)
      notifications.info(t('cloneCancelled', { name }))
    } catch (error) {
      notifications.error(error)
    } finally {
      cancelling.value = new Set([...cancelling.value].filter(one => one !== id))
    }
  }

  return { tasks, cancelling, cancel }
}
