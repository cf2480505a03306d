import { computed, inject, onScopeDispose, provide, shallowRef, watch, type InjectionKey, type Ref } from 'vue'
import { useRoute, useRouter, type LocationQueryRaw } from 'vue-router'
import { ERRORS, isAppError, type Folder, type FolderId } from '#manager/contract'
import { createPaced } from '../../../api/paced.ts'
import { useFolder } from '../../../data/folders/useFolder.ts'
import { useServices } from '../../../services.ts'
import { useUntilBack } from '../../../ui/useUntilBack.ts'
import { readView, writeView, type ExplorerView } from './explorer-query.ts'
import { createFilesClient, type EntrySort, type FilesClient } from '../../../data/files/files-client.ts'
import { createListing, type Listing } from './listing.ts'
import { NOTHING, without, type Selection } from './selection.ts'

/** The explorer of one folder: its directory, its entries, and the selection. */
export interface Explorer {
  readonly folderId: Readonly<Ref<FolderId>>
  /** Null before the answer, and if there is no such folder. */
  readonly folder: Readonly<Ref<Folder | null>>
  /** True if the manager has answered that there is no such folder for this person. */
  readonly isUnknown: Readonly<Ref<boolean>>
  readonly folderError: Readonly<Ref<unknown>>
  /** Directory that is shown, relative to the folder. */
  readonly path: Readonly<Ref<string>>
  readonly view: Readonly<Ref<ExplorerView>>
  readonly listing: Readonly<Ref<Listing>>
  readonly client: Readonly<Ref<FilesClient>>
  readonly selection: Ref<Selection>
  /** Whether the person may create, change and copy. */
  readonly canWrite: Readonly<Ref<boolean>>
  /** Whether the person may also delete, rename and move. */
  readonly canDelete: Readonly<Ref<boolean>>
  /** Changes a part of the view in the URL, and removes any dialog from it. @param how `push` adds a history entry */
  setView(change: Partial<ExplorerView>, how?: 'push' | 'replace'): Promise<unknown>
  loadFolder(): Promise<void>
  refresh(): Promise<void>
}

/** Minimum time in milliseconds between two listings while files keep changing. */
const BUSY_MS = 5_000

const EXPLORER: InjectionKey<Explorer> = Symbol('explorer')

/** Returns the explorer of the page. For components within ExplorerPage. */
export function useExplorer(): Explorer {
  const explorer = inject(EXPLORER)
  if (!explorer) throw new Error('useExplorer() outside ExplorerPage')
  return explorer
}

/** Creates the explorer from the route and provides it to the components of the page. */
export function provideExplorer(): Explorer {
  const { api, secret, events } = useServices()
  const route = useRoute()
  const router = useRouter()
  const isHere = () => route.name === 'explorer'

  const folderId = shallowRef('' as FolderId)
  const path = shallowRef('')
  const view = shallowRef(readView({}))
  const { folder, isUnknown, error: folderError, again: loadFolder } = useFolder(() => folderId.value)
  const selection = shallowRef<Selection>(NOTHING)
  const client = shallowRef(clientOf(folderId.value))
  const listing = shallowRef<Listing>(listingOf(view.value.sort))

  let unwatch = () => {}

  function clientOf(id: FolderId): FilesClient {
    return createFilesClient({ folderId: id, api, secret })
  }
  function listingOf(sort: EntrySort): Listing {
    const files = client.value
    const directory = path.value
    return createListing((after, limit, signal) => files.list({ path: directory, sort, after, limit, signal }))
  }

  function follow(): void {
    if (!isHere()) return
    const { folder: id, path: parts } = route.params
    const nextId = String(id) as FolderId
    const nextPath = Array.isArray(parts) ? parts.join('/') : (parts ?? '')
    const before = view.value
    view.value = readView(route.query)
    const isOtherFolder = nextId !== folderId.value
    const isOtherPlace = isOtherFolder || nextPath !== path.value
    const isOtherOrder = JSON.stringify(before.sort) !== JSON.stringify(view.value.sort)
    if (isOtherFolder) {
      folderId.value = nextId
      client.value = clientOf(nextId)
    }
    if (!isOtherPlace && !isOtherOrder) return
    path.value = nextPath
    unwatch()
    unwatch = events.watchDirectory(nextId, nextPath)
    if (isOtherPlace) selection.value = NOTHING
    listing.value.stop()
    listing.value = listingOf(view.value.sort)
    void listing.value.refresh()
  }

  async function refresh(options?: { readonly quietly?: boolean }): Promise<void> {
    const current = listing.value
    await current.refresh(options)
    if (current === listing.value) selection.value = without(selection.value, name => current.isGone(name))
  }

  watch(() => route.fullPath, follow, { immediate: true })
  const refreshes = createPaced({ run: () => refresh().then(() => true), gatherMs: 60, busyMs: BUSY_MS })
  // Not every directory is watched, and hints about changes by sessions are lost during an interruption: refresh when the page is shown.
  const onVisible = () => {
    if (document.visibilityState === 'visible' && isHere()) void refresh()
  }
  window.addEventListener('focus', onVisible)
  watch(events.connection, ({ state }, before) => {
    if (state === 'live' && before.state === 'waiting') refreshes.ask()
  })
  const stopHints = events.onHint(({ topic, id, path: changed = path.value }) => {
    if (topic === 'files' && id === folderId.value && changed === path.value) refreshes.ask()
  })
  const stopResync = events.onResync(() => void refresh())
  // There is no hint that a storage host is back.
  useUntilBack(
    () => {
      const { error } = listing.value.state.value
      return isAppError(error) && ERRORS[error.code].retry
    },
    () => refresh({ quietly: true }),
  )
  onScopeDispose(() => {
    window.removeEventListener('focus', onVisible)
    unwatch()
    refreshes.cancel()
    stopHints()
    stopResync()
    listing.value.stop()
  })

  const explorer: Explorer = {
    folderId,
    folder,
    isUnknown,
    folderError,
    path,
    view,
    listing,
    client,
    selection,
    canWrite: computed(() => folder.value !== null && folder.value.permission !== 'ro'),
    canDelete: computed(() => folder.value?.permission === 'delete'),
    setView(change, how = 'replace') {
      const query: LocationQueryRaw = writeView({ ...view.value, ...change })
      return router[how]({ query })
    },
    loadFolder,
    refresh,
  }
  provide(EXPLORER, explorer)
  return explorer
}
