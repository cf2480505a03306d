import { computed } from 'vue'
import { useQueryView } from '../../ui/useQueryView.ts'
import { readFolderView, writeFolderView, type FolderView } from '../../data/folders/folder-list.ts'

/** The tab, search and sort order of the page, in sync with the URL. Switching tabs adds a history entry. */
export function useFolderView() {
  const { view, set } = useQueryView<FolderView>({
    route: 'data',
    keys: ['tab', 'q', 'sort'],
    read: readFolderView,
    write: writeFolderView,
  })
  return {
    tab: computed({
      get: () => view.value.tab,
      set: tab => {
        // Each tab has its own default order.
        if (tab !== view.value.tab) set(readFolderView({ tab }), 'push')
      },
    }),
    search: computed({ get: () => view.value.search, set: search => set({ search }, 'replace') }),
    sort: computed({ get: () => view.value.sort, set: sort => set({ sort }, 'replace') }),
  }
}
