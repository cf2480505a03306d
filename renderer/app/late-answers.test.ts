// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { effectScope, reactive, ref, shallowRef } from 'vue'
import { NO_ANNOUNCEMENT, type ApiClient, type SessionSpec } from '#manager/contract'
import { type ListState, type ListView } from '../features/admin/list-view.ts'
import { usePagedList, useWholeList } from '../features/admin/admin-list.ts'
import { useFoundUsers } from '../features/admin/useFoundUsers.ts'
import { useOverview } from '../features/admin/overview/useOverview.ts'
import { useCheckedAgents } from '../features/admin/system/useCheckedAgents.ts'
import { useAnnouncement } from '../features/announcement/useAnnouncement.ts'
import { usePublished } from '../features/apps/usePublished.ts'
import { useImageDefaults } from '../features/launch/useImageDefaults.ts'
import { useOutlook } from '../features/launch/useOutlook.ts'
import { useTemplates } from '../features/launch/useTemplates.ts'
import { useNotices } from '../features/notifications/useNotices.ts'
import { useFoundSessions } from '../features/palette/useFoundSessions.ts'
import { aFolder } from '../testing/a-folder.ts'
import { anImage } from '../testing/an-image.ts'
import { aSession } from '../testing/a-session.ts'
import { withServices } from '../testing/services.ts'
import { useFolder } from '../data/folders/useFolder.ts'
import { useFolders } from '../data/folders/useFolders.ts'
import { useInvitations } from '../data/folders/useInvitations.ts'
import { useLog } from '../data/logs/useLog.ts'
import { useResourceGroup } from '../data/project/useResourceGroup.ts'
import { useResources } from '../data/sessions/useResources.ts'
import { useUsage } from '../data/usage/useUsage.ts'

beforeEach(() => {
  vi.useFakeTimers()
  localStorage.clear()
})
afterEach(() => void vi.useRealTimers())

/** A loader on a page. */
interface Loader {
  /** Asks again: by a call, or by another key. */
  ask(): unknown
  /** A text of the shown answer. */
  shown(): unknown
}
interface Row {
  readonly route: keyof ApiClient
  /** Answer of the manager, with a text that identifies it. */
  readonly answer: (text: string) => unknown
  readonly start: (answers: ReturnType<typeof withServices>) => Loader
}

const idle = () => new Promise<never>(() => undefined)
const pageOf = (items: readonly unknown[]) => ({ items, nextCursor: null, total: items.length })
const slotsOf = (text: string) => ({ cpu: text })

function aView() {
  const state = reactive({ search: '', sort: { key: 'name', descending: false }, filters: {} })
  return {
    state: state as ListState,
    search: '',
    sort: state.sort,
    filterBy: () => undefined,
    clear: () => undefined,
  } as ListView & {
    state: { search: string }
  }
}
/** Counts the requests, for keys that must differ. */
function counter() {
  const count = ref(0)
  return { count, next: () => (count.value += 1) }
}

const LOADERS: Readonly<Record<string, Row>> = {
  useUsage: {
    route: 'getUsage',
    answer: text => ({ items: [{ kind: 'user', name: text }] }),
    start({ pinia }) {
      const store = useUsage(pinia)
      return { ask: store.load, shown: () => store.mine?.name }
    },
  },
  useInvitations: {
    route: 'listFolderInvitations',
    answer: text => ({ items: [{ id: text }] }),
    start({ pinia }) {
      const store = useInvitations(pinia)
      return { ask: store.load, shown: () => store.items?.[0]?.id }
    },
  },
  'useResources, figures': {
    route: 'getResources',
    answer: text => ({ capacity: slotsOf(text) }),
    start({ pinia }) {
      const store = useResources(pinia)
      return { ask: store.load, shown: () => store.resources?.capacity['cpu'] }
    },
  },
  'useResources, images': {
    route: 'listImages',
    answer: text => pageOf([anImage({ title: text })]),
    start({ pinia }) {
      const store = useResources(pinia)
      return { ask: store.load, shown: () => store.images?.[0]?.title }
    },
  },
  useResourceGroup: {
    route: 'listResourceGroups',
    answer: text => ({ items: [{ name: text, active: true }] }),
    start({ pinia }) {
      const store = useResourceGroup(pinia)
      return { ask: store.load, shown: () => store.names[0] }
    },
  },
  useFolders: {
    route: 'listFolders',
    answer: text => ({ items: [aFolder(1, { name: text })] }),
    start({ pinia }) {
      const store = useFolders(pinia)
      return { ask: () => store.retry('ready'), shown: () => store.lists.ready.items?.[0]?.name }
    },
  },
  useFolder: {
    route: 'listFolders',
    answer: text => ({ items: [aFolder(1, { name: text })] }),
    start() {
      const { folder, again } = useFolder(() => aFolder(1).id)
      return { ask: again, shown: () => folder.value?.name }
    },
  },
  useLog: {
    route: 'getSessionLogs',
    answer: text => ({ text, truncated: false }),
    start() {
      const log = useLog(shallowRef(aSession(1)), ref(10), ref(false))
      return { ask: log.load, shown: () => log.text.value }
    },
  },
  useAnnouncement: {
    route: 'getAnnouncement',
    answer: text => ({ ...NO_ANNOUNCEMENT, id: text, text }),
    start({ pinia, events }) {
      const store = useAnnouncement(pinia)
      void store.begin()
      return {
        ask: () => events.hint({ topic: 'announcement', id: 'all', version: 1 }),
        shown: () => store.shown?.text,
      }
    },
  },
  useNotices: {
    route: 'listMessages',
    answer: text => ({ items: [{ id: text, at: '', from: 'a', text, sessions: [], about: null, detail: '' }] }),
    start({ pinia, events }) {
      const store = useNotices(pinia)
      store.begin()
      return { ask: () => events.hint({ topic: 'message', id: 'me', version: 1 }), shown: () => store.items[0]?.name }
    },
  },
  usePublished: {
    route: 'listPublishedApps',
    answer: text => ({ items: [{ id: text }], publishing: {} }),
    start() {
      const published = usePublished()
      return { ask: published.load, shown: () => published.links.value[0]?.id }
    },
  },
  useTemplates: {
    route: 'listSessionTemplates',
    answer: text => ({ items: [{ name: text }] }),
    start() {
      const { templates, load } = useTemplates()
      return { ask: load, shown: () => templates.value?.[0]?.name }
    },
  },
  useImageDefaults: {
    route: 'listImageDefaults',
    answer: text => ({ items: [{ image: text }] }),
    start() {
      const { defaults, load } = useImageDefaults()
      return { ask: load, shown: () => defaults.value?.[0]?.image }
    },
  },
  useCheckedAgents: {
    route: 'listAgentSummaries',
    answer: text => pageOf([{ id: text }]),
    start() {
      const { agents, load } = useCheckedAgents()
      return { ask: load, shown: () => agents.value[0]?.id }
    },
  },
  useOverview: {
    route: 'getOverview',
    answer: text => ({ idle: text, setUp: null }),
    start() {
      const { overview, load } = useOverview()
      return { ask: load, shown: () => overview.value?.idle }
    },
  },
  useFoundSessions: {
    route: 'listSessions',
    answer: text => pageOf([aSession(1, { name: text })]),
    start() {
      const typed = ref('')
      const found = useFoundSessions(typed)
      return { ask: () => (typed.value += 'abc'), shown: () => found.value[0]?.name }
    },
  },
  useOutlook: {
    route: 'whatIf',
    answer: text => ({ startsNow: true, reason: text, smaller: [], notices: [] }),
    start() {
      const { count, next } = counter()
      const { outlook } = useOutlook(
        () => ({ count: count.value }) as SessionSpec,
        () => null,
        ({ reason }) => ({ kind: 'now', text: JSON.stringify(reason), offer: null }) as never,
      )
      return { ask: next, shown: () => JSON.parse(outlook.value?.text ?? 'null') as unknown }
    },
  },
  useWholeList: {
    route: 'listDomains',
    answer: text => ({ items: [text] }),
    start({ api }) {
      const list = useWholeList({
        view: aView(),
        columns: () => [],
        fetch: async () => (await api.listDomains()).items,
      })
      return { ask: list.load, shown: () => list.rows?.[0] }
    },
  },
  'useFoundUsers, another search': {
    route: 'listUsers',
    answer: text => pageOf([text]),
    start() {
      const { search, users } = useFoundUsers(() => undefined)
      return { ask: () => (search.value += 'a'), shown: () => users.value[0] }
    },
  },
  'usePagedList, another search': {
    route: 'listUsers',
    answer: text => pageOf([text]),
    start({ api }) {
      const view = aView()
      const list = usePagedList({ view, fetch: ({ search }) => api.listUsers({ query: { search } }) })
      return { ask: () => (view.state.search += 'a'), shown: () => list.rows?.[0] }
    },
  },
}

test.each(Object.entries(LOADERS))('%s shows the newest answer, in whatever order they arrive', async (_, row) => {
  const open: ((text: string) => void)[] = []
  const answers = Object.fromEntries([
    ...['getUsage', 'getResources', 'listImages', 'listSessions', 'listFolders', 'listFolderInvitations'].map(name => [
      name,
      idle,
    ]),
    ['listStorageHosts', idle],
    [row.route, async () => row.answer(await new Promise<string>(resolve => open.push(resolve)))],
  ]) as Partial<ApiClient>
  const services = withServices(answers)
  const scope = effectScope()
  const loader = services.app.runWithContext(() => scope.run(() => row.start(services)))
  if (!loader) throw new Error('the scope has ended')
  const settled = () => vi.advanceTimersByTimeAsync(600)
  for (let asked = open.length; open.length < 2; asked += 1) {
    expect(asked).toBeLessThan(3)
    void loader.ask()
    await settled()
  }
  const newest = open.length - 1
  open[newest]?.('new')
  await settled()
  expect(loader.shown()).toBe('new')
  for (const late of open.slice(0, newest)) late('old')
  await settled()
  expect(loader.shown()).toBe('new')
  scope.stop()
})
