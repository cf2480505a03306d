import { defineStore } from 'pinia'
import { computed, ref, shallowRef, watch } from 'vue'
import {
  type Folder,
  type FolderChange,
  type FolderCloneSpec,
  type FolderId,
  type FolderSpec,
  type FolderCount,
  type StorageHost,
} from '#manager/contract'
import { createPaced } from '../../api/paced.ts'
import { useServices } from '../../services.ts'
import { useAccount } from '../account/useAccount.ts'

export type FolderListName = 'ready' | 'trashed'
interface FolderList {
  /** Null until loaded. */
  readonly items: readonly Folder[] | null
  /** The failure of the last request; loaded folders stay. */
  readonly error: unknown
}

const NONE: FolderList = { items: null, error: null }
const NAMES: readonly FolderListName[] = ['ready', 'trashed']
/** Milliseconds in which hints are gathered. */
const GATHER_MS = 150
const BUSY_MS = 2_000

/** The folders that the person may use or manage, those in the trash, and the storage hosts. Kept current by event hints. */
export const useFolders = defineStore('folders', () => {
  const { api, events } = useServices()
  const account = useAccount()
  const lists = shallowRef<Readonly<Record<FolderListName, FolderList>>>({ ready: NONE, trashed: NONE })
  const hosts = shallowRef<readonly StorageHost[] | null>(null)
  /** How many folders the person owns, and may own. */
  const count = shallowRef<FolderCount | null>(null)
  /** Ids of folders just made on this page: shown with an accent for a moment. */
  const fresh = ref<ReadonlySet<FolderId>>(new Set())
  /** Lists that a page has asked for: these are kept current. */
  const wanted = new Set<FolderListName>()
  /** Counts requests per list and changes made here: an answer to an earlier request is dropped. */
  const turns: Record<FolderListName, number> = { ready: 0, trashed: 0 }

  const byId = computed(
    () => new Map(NAMES.flatMap(name => (lists.value[name].items ?? []).map(each => [each.id, each]))),
  )
  /** Folders that sessions of the person can mount. */
  const mountable = computed(() => lists.value.ready.items?.filter(({ usable }) => usable) ?? null)
  const problemOf = (host: string) => hosts.value?.find(({ name }) => name === host)?.problem ?? null

  const setList = (name: FolderListName, change: Partial<FolderList>) => {
    lists.value = { ...lists.value, [name]: { ...lists.value[name], ...change } }
  }

  /** Fetches a list. @returns whether it succeeded */
  async function fetchList(name: FolderListName): Promise<boolean> {
    const turn = ++turns[name]
    try {
      const { items } = await api.listFolders({ query: name === 'trashed' ? { trashed: 'true' } : {} })
      if (turn === turns[name]) setList(name, { items, error: null })
      return true
    } catch (error) {
      if (turn === turns[name]) setList(name, { error })
      return false
    }
  }

  let hostTurn = 0
  /** Fetches the storage hosts. @returns whether it succeeded */
  async function fetchHosts(): Promise<boolean> {
    const turn = ++hostTurn
    return await api.listStorageHosts().then(
      ({ items, folders }) => {
        if (turn !== hostTurn) return true
        hosts.value = items
        count.value = folders
        return true
      },
      () => false,
    )
  }

  /** Fetches a list unless it is loaded, and asks for the state of the storage hosts, of which no hint tells. */
  async function load(name: FolderListName): Promise<void> {
    wanted.add(name)
    await Promise.all([fetchHosts(), lists.value[name].items ? true : fetchList(name)])
  }
  /** Fetches a list again after a failure. */
  async function retry(name: FolderListName): Promise<void> {
    setList(name, { error: null })
    await Promise.all([fetchHosts(), fetchList(name)])
  }

  const again = createPaced({
    gatherMs: GATHER_MS,
    busyMs: BUSY_MS,
    run: async () => {
      const answers = await Promise.all([...[...wanted].map(fetchList), hosts.value ? fetchHosts() : true])
      return answers.every(Boolean)
    },
  })
  events.onHint(({ topic }) => {
    if (topic === 'folder' && account.state === 'signed_in') again.ask()
  })
  events.onResync(() => again.ask())
  // Hints that arrived while the sign-in was expired were lost: nothing could be fetched.
  watch(
    () => account.state,
    (now, before) => {
      if (before === 'expired' && now === 'signed_in') again.ask()
    },
  )

  /** Moves a folder to the list of its status with the answer to an action: the page shows it before any hint. */
  function put(folder: Folder): void {
    take(folder.id)
    const name = folder.status === 'trashed' ? 'trashed' : 'ready'
    const { items } = lists.value[name]
    if (items) setList(name, { items: [...items, folder] })
  }
  function take(id: FolderId): void {
    for (const name of NAMES) {
      turns[name] += 1
      const { items } = lists.value[name]
      if (items?.some(each => each.id === id)) setList(name, { items: items.filter(each => each.id !== id) })
    }
    // An answer in flight may be older than the action: it is dropped, and asked for again.
    again.ask()
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

  /** Gives up the membership of a folder of somebody else. @throws as the route */
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
