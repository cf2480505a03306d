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

  /** The loaded sessions of a tab. */
  function part(name: ListTab): readonly Session[] {
    const whole = sessions[listOf(name)]
    if (name === 'waiting') return whole.filter(({ status }) => status === 'PENDING')
    return name === 'failed' ? whole.filter(hasFailed) : whole
  }
  /** The server's list that has the whole tab. If all finished sessions are loaded, the failed ones are among them. */
  const sourceOf = (name: ListTab): ListName =>
    name === 'failed' && !sessions.lists.finished.complete ? 'failed' : listOf(name)
  const all = computed(() => part(tab.value))
  const inProject = computed(() => (project.chosen ? all.value.filter(project.holds) : all.value))
  const searching = computed(() => search.value.trim() !== '' || statuses.value.length > 0 || tag.value !== '')
  return {
    /** The server's list that the tab shows, or of which it shows a part. */
    source: computed(() => sourceOf(tab.value)),
    /** All loaded sessions of the tab. */
    all,
    /** Sessions of the chosen project. */
    inProject,
    /** Sessions of the project that also match search and filters, in the order of the view. */
    rows: computed(() => {
      const filter = { text: search.value, statuses: statuses.value, tag: tag.value }
      return sortSessions(filterSessions(inProject.value, filter), sort.value)
    }),
    filtering: computed(() => searching.value || project.chosen !== null),
    /** Tags of the loaded sessions, and the chosen one. */
    tags: computed(() => {
      const used = new Set(all.value.flatMap(session => session.tags))
      if (tag.value !== '') used.add(tag.value)
      return [...used].toSorted((a, b) => a.localeCompare(b))
    }),
    /** True if the list has sessions of others: for admins, and if some are shared. */
    showOwner: computed(() => account.isAdmin || all.value.some(session => session.sharedAs !== null)),
    /** True if the list has sessions of several resource groups. */
    showGroup: computed(() => new Set(all.value.map(session => session.resourceGroup)).size > 1),
    /** The number beside a tab; null until known. For a partly loaded list it is the server's total, which ignores the project. */
    countOf: (name: ListTab): number | null => {
      const { status, complete, total } = sessions.lists[sourceOf(name)]
      if (status !== 'ready') return sourceOf(name) === 'failed' ? total : null
      if (project.chosen) return part(name).filter(project.holds).length
      return complete || name === 'waiting' ? part(name).length : total
    },
  }
}
