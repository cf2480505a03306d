import { computed } from 'vue'
import { type Session } from '#manager/contract'
import { useAccount } from '../../data/account/useAccount.ts'
import { useProject } from '../../data/project/useProject.ts'
import { listOf, type ListTab } from './list-query.ts'
import { type ListName } from '../../data/sessions/sync-plan.ts'
import { filterSessions, sortSessions } from './session-filter.ts'
import { hasFailed } from '../../data/sessions/session-text.ts'
import { type useListView } from './useListView.ts'
import { useSessions } from '../../data/sessions/useSessions.ts'

type View = Pick<ReturnType<typeof useListView>, 'tab' | 'search' | 'statuses' | 'tag' | 'sort'>

/** Rows of a view of the loaded sessions. */
export function useSessionRows({ tab, search, statuses, tag, sort }: View) {
  const sessions = useSessions()
  const account = useAccount()
  const project = useProject()

  /** The sessions of a tab, of those that are loaded. */
  function part(name: ListTab): readonly Session[] {
    const whole = sessions[listOf(name)]
    if (name === 'waiting') return whole.filter(({ status }) => status === 'PENDING')
    return name === 'failed' ? whole.filter(hasFailed) : whole
  }
  /** The list of the server that has the whole tab. Where all finished sessions are loaded, the failed ones are among them. */
  const sourceOf = (name: ListTab): ListName =>
    name === 'failed' && !sessions.lists.finished.complete ? 'failed' : listOf(name)
  const all = computed(() => part(tab.value))
  const inProject = computed(() => (project.chosen ? all.value.filter(project.holds) : all.value))
  const searching = computed(() => search.value.trim() !== '' || statuses.value.length > 0 || tag.value !== '')
  return {
    /** The list of the server that the tab shows, or shows a part of. */
    source: computed(() => sourceOf(tab.value)),
    /** All of the tab. */
    all,
    /** Sessions of the chosen project. */
    inProject,
    /** Sessions of the project that match search and filters too, in the order of the view. */
    rows: computed(() => {
      const filter = { text: search.value, statuses: statuses.value, tag: tag.value }
      return sortSessions(filterSessions(inProject.value, filter), sort.value)
    }),
    filtering: computed(() => searching.value || project.chosen !== null),
    /** Tags of the loaded sessions, with the one that is chosen. */
    tags: computed(() => {
      const used = new Set(all.value.flatMap(session => session.tags))
      if (tag.value !== '') used.add(tag.value)
      return [...used].toSorted((a, b) => a.localeCompare(b))
    }),
    /** Sessions of others are in the list: of everybody for admins, and those that are shared. */
    showOwner: computed(() => account.isAdmin || all.value.some(session => session.sharedAs !== null)),
    /** Sessions of several resource groups are in the list. */
    showGroup: computed(() => new Set(all.value.map(session => session.resourceGroup)).size > 1),
    /**
     * The number beside a tab; null until it is known. The total on the server, for a list that is not loaded whole, knows nothing
     * of the project.
     */
    countOf: (name: ListTab): number | null => {
      const { status, complete, total } = sessions.lists[sourceOf(name)]
      if (status !== 'ready') return sourceOf(name) === 'failed' ? total : null
      if (project.chosen) return part(name).filter(project.holds).length
      return complete || name === 'waiting' ? part(name).length : total
    },
  }
}
