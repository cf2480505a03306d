import { computed, shallowRef, watch } from 'vue'
import { type Folder, type FolderId, type Task } from '#manager/contract'
import { useFetched } from '../../data/fetched.ts'
import { useServices } from '../../services.ts'
import { useNotifications } from '../../ui/useNotifications.ts'
import { useFolders } from '../../data/folders/useFolders.ts'
import { t } from '../../words/en/folders.ts'

/**
 * Copies that fill folders of the page, with their progress, including those that another tab or the command line began. Kept current by
 * hints about their tasks.
 */
export function useClones() {
  const { api } = useServices()
  const store = useFolders()
  const notifications = useNotifications()
  const cancelling = shallowRef<ReadonlySet<FolderId>>(new Set())
  const filled = computed(() => (store.lists.ready.items ?? []).filter(({ cloning }) => cloning))
  const cancelled = new Set<FolderId>()

  async function fetchOne(id: FolderId, signal: AbortSignal): Promise<readonly [FolderId, Task | null]> {
    const { items } = await api.listCopies({ params: { id }, signal })
    return [id, items.find(({ status }) => status === 'running') ?? null]
  }
  const { value } = useFetched({
    key: () => (filled.value.length > 0 ? filled.value.map(({ id }) => id) : undefined),
    async fetch(ids, signal) {
      const answers = await Promise.allSettled(ids.map(async id => await fetchOne(id, signal)))
      // A folder that was deleted meanwhile has no copy; the list of folders will show that.
      return new Map(answers.flatMap(answer => (answer.status === 'fulfilled' ? [answer.value] : [])))
    },
    topics: ['task'],
    keeps: true,
  })
  /** The copy that fills each folder; null if somebody else started it, because this person cannot see that copy. */
  const tasks = computed((): ReadonlyMap<FolderId, Task | null> => value.value ?? new Map())

  /** Reports how a copy has ended; the server deletes the folder of a failed one. */
  function tellEnd({ id, name }: Folder): void {
    const found = store.byId.get(id)
    if (found) notifications.success(t('cloned', { name }))
    else if (!cancelled.has(id)) notifications.info(t('cloneFailed', { name }))
  }
  watch(filled, (now, before) => {
    if (store.lists.ready.items === null) return
    for (const folder of before) if (!now.some(({ id }) => id === folder.id)) tellEnd(folder)
  })
  /** Cancels the copy; the server deletes its folder too. */
  async function cancel({ id, name }: Folder): Promise<void> {
    const task = tasks.value.get(id)
    if (!task || cancelling.value.has(id)) return
    cancelling.value = new Set([...cancelling.value, id])
    try {
      const { status } = await api.cancelCopy({ params: { id, taskId: task.id } })
      // A copy on another server ends a moment later.
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
