import { defineStore } from 'pinia'
import { computed, ref, watch } from 'vue'
import { type Folder, type FolderChange, type FolderCloneSpec, type FolderId, type FolderSpec } from '#manager/contract'
import { useServices } from '../../services.ts'
import { useAccount } from '../account/useAccount.ts'
import { useFetched, type Fetched } from '../fetched.ts'

export type FolderListName = 'ready' | 'trashed'
interface FolderList {
  /** Null until loaded. */
  readonly items: readonly Folder[] | null
  /** The failure of the last request; loaded folders stay. */
  readonly error: unknown
}

const NAMES: readonly FolderListName[] = ['ready', 'trashed']

/** The folders that the person may use or manage, those in the trash, and the storage hosts. Kept current by event hints. */
export const useFolders = defineStore('folders', () => {
  const { api } = useServices()
  const account = useAccount()
  /** Nothing is fetched before a page requests it, or while the sign-in is expired. */
  const current = { topics: ['folder'], concerns: () => account.state === 'signed_in', atOnce: false } as const
  const fetchedList = (query: { readonly trashed?: 'true' }) =>
    useFetched<readonly Folder[]>({
      fetch: async (_, signal) => (await api.listFolders({ query, signal })).items,
      ...current,
    })
  const fetched = { ready: fetchedList({}), trashed: fetchedList({ trashed: 'true' }) }
  const listOf = ({ value: { value: items }, error: { value: error } }: Fetched<readonly Folder[]>): FolderList => ({
    items,
    error,
  })
  const lists = computed(() => ({ ready: listOf(fetched.ready), trashed: listOf(fetched.trashed) }))
  const storage = useFetched({ fetch: (_, signal) => api.listStorageHosts({ signal }), ...current })
  const hosts = computed(() => storage.value.value?.items ?? null)
  /** How many folders the person owns, and may own. */
  const count = computed(() => storage.value.value?.folders ?? null)
  /** Ids of folders just made on this page: shown with an accent for a moment. */
  const fresh = ref<ReadonlySet<FolderId>>(new Set())
  const byId = computed(
    () => new Map(NAMES.flatMap(name => (lists.value[name].items ?? []).map(each => [each.id, each]))),
  )
  /** Folders that sessions of the person can mount. */
  const mountable = computed(() => lists.value.ready.items?.filter(({ usable }) => usable) ?? null)
  const problemOf = (host: string) => hosts.value?.find(({ name }) => name === host)?.problem ?? null

  /** Fetches a list unless it is loaded, and the state of the storage hosts, about which there are no hints. */
  async function load(name: FolderListName): Promise<void> {
    await Promise.all([storage.again(), lists.value[name].items ? undefined : fetched[name].again()])
  }
  /** Fetches a list again after a failure. */
  async function retry(name: FolderListName): Promise<void> {
    await Promise.all([storage.again(), fetched[name].again()])
  }
  // Hints that arrived while the sign-in was expired were lost.
  watch(
    () => account.state,
    (now, before) => {
      if (before !== 'expired' || now !== 'signed_in') return
      for (const one of [fetched.ready, fetched.trashed, storage]) if (one.value.value !== null) void one.again()
    },
  )

  /** Moves a folder to the list of its status with the answer to an action: the page shows it before any hint. */
  function put(folder: Folder): void {
    take(folder.id)
    const { value, put: show } = fetched[folder.status === 'trashed' ? 'trashed' : 'ready']
    if (value.value) show([...value.value, folder])
  }
  /** Removes a folder from its list. Answers in flight, which may be older than the removal, are dropped, and the list is fetched again. */
  function take(id: FolderId): void {
    for (const name of NAMES) fetched[name].put(fetched[name].value.value?.filter(each => each.id !== id) ?? null)
  }

  /** Shows the answer to an action. */
  async function shown<T>(answer: Promise<T>, show: (value: T) => void): Promise<T> {
    const value = await answer
    show(value)
    return value
  }

  /** @throws as the route */
  const create = (spec: FolderSpec) =>
    shown(api.createFolder({ body: spec }), folder => {
      put(folder)
      fresh.value = new Set([folder.id])
    })
  /** Copies a folder to a new one, which is shown at once. @throws as the route */
  const clone = (id: FolderId, spec: FolderCloneSpec) =>
    shown(api.cloneFolder({ params: { id }, body: spec }), ({ folder }) => {
      put(folder)
      fresh.value = new Set([folder.id])
    })
  /** @throws as the route */
  const change = (id: FolderId, body: FolderChange) => shown(api.updateFolder({ params: { id }, body }), put)
  /** @throws as the route */
  const trash = (id: FolderId) => shown(api.trashFolder({ params: { id } }), put)
  /** @throws as the route */
  const restore = (id: FolderId) => shown(api.restoreFolder({ params: { id } }), put)
  /** @throws as the route */
  const remove = (id: FolderId) => shown(api.deleteFolder({ params: { id } }), () => take(id))

  /** Leaves somebody else's folder. @throws as the route */
  const leave = (id: FolderId) => shown(api.leaveFolder({ params: { id } }), () => take(id))

  return {
    lists,
    hosts,
    count,
    fresh,
    byId,
    mountable,
    problemOf,
    load,
    retry,
    create,
    clone,
    change,
    trash,
    restore,
    remove,
    leave,
  }
})
