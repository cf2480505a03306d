import { defineStore } from 'pinia'
import { computed, onScopeDispose, ref, watch } from 'vue'
import { type Message, type Session, type SessionId, type AccountNewsKind } from '#manager/contract'
import { type DesktopNotice } from '#proxy/contract'
import { useFetched } from '../../data/fetched.ts'
import { useServices } from '../../services.ts'
import { logError } from '../../ui/error-log.ts'
import { useAccount } from '../../data/account/useAccount.ts'
import { useSessions } from '../../data/sessions/useSessions.ts'
import { useInvitations } from '../../data/folders/useInvitations.ts'
import { noticeKind, readNotices, seenOf, type Notice, type NoticeKind, type Seen, warnedAtOf } from './notice.ts'
import { watchTunnels } from './watch-tunnels.ts'

const MOST_KEPT = 50

/** Messages from Berth itself to superadmins, each with the page where they can act. */
const TOLD_BY_BERTH = {
  backup_failed: { kind: 'backupFailed', to: '/admin/maintenance' },
  certificate: { kind: 'certificate', to: '/admin/about' },
  host_update: { kind: 'hostUpdate', to: '/admin/agents' },
  gpu_fault: { kind: 'gpuFault', to: '/admin/agents' },
  host_fault: { kind: 'hostFault', to: '/admin/agents' },
  webhook_failing: { kind: 'webhookFailing', to: '/admin/webhooks' },
  webhook_off: { kind: 'webhookOff', to: '/admin/webhooks' },
  webhook_owner: { kind: 'webhookOwner', to: '/account' },
  host_well: { kind: 'hostWell', to: '/admin/agents' },
} as const satisfies Record<Exclude<NonNullable<Message['about']>, AccountNewsKind>, Pick<Notice, 'kind' | 'to'>>
const isTold = (about: NonNullable<Message['about']>): about is AccountNewsKind => !Object.hasOwn(TOLD_BY_BERTH, about)
/** Page where the person can act; usually the account page. */
const PAGES: Partial<Record<AccountNewsKind, string>> = {
  left_invitations: '/admin/invitations',
  left_account_links: '/admin/users',
  left_webhooks: '/admin/webhooks',
  left_scim_tokens: '/admin/audit',
}
/** Kinds of notices that disappear when their message is cleared, besides those about actions of others. */
const OF_MESSAGES: ReadonlySet<NoticeKind> = new Set([
  'message',
  ...Object.values(TOLD_BY_BERTH).map(({ kind }) => kind),
])
const isOfMessage = (kind: NoticeKind) => kind.startsWith('told_') || OF_MESSAGES.has(kind)

/** News of the person's sessions while a tab was open, and invitations. Kept on this computer, shared by its tabs. */
export const useNotices = defineStore('notices', () => {
  const { api, host } = useServices()
  /** Loaded when the browser is idle, or with the first notice. */
  let loaded: ReturnType<typeof loadDesktop> | undefined
  async function loadDesktop() {
    const [{ desktopNotices }, { watchFront }, { noticeText }] = await Promise.all([
      import('./desktop.ts'),
      import('./in-front.ts'),
      import('./notice-text.ts'),
    ])
    const front = watchFront()
    const appNotify = host.isDesktop ? (notice: DesktopNotice) => host.desktop.notify(notice) : undefined
    return { front, notices: desktopNotices(appNotify, () => front.isInFront()), noticeText }
  }
  const desktop = () => (loaded ??= loadDesktop())
  onScopeDispose(() => void loaded?.then(({ front }) => front.close()))
  const account = useAccount()
  const sessions = useSessions()
  const invitations = useInvitations()
  const key = computed(() => `berth.notices.${account.user?.id ?? ''}`)
  const items = ref<readonly Notice[]>([])
  const unread = computed(() => items.value.filter(({ read }) => !read).length)

  const read = () => {
    items.value = readNotices(globalThis.localStorage.getItem(key.value))
  }
  function store(next: readonly Notice[]): void {
    items.value = next
    globalThis.localStorage.setItem(key.value, JSON.stringify(next))
  }
  /** Records an event. Another tab may have recorded it already. */
  function add(notice: Omit<Notice, 'at' | 'read'>): void {
    const known = readNotices(globalThis.localStorage.getItem(key.value))
    if (known.some(({ id }) => id === notice.id)) {
      items.value = known
      return
    }
    const noted = { ...notice, at: Date.now(), read: false }
    store([noted, ...known].slice(0, MOST_KEPT))
    desktop()
      .then(({ notices, noticeText }) => notices.show(noted.id, noticeText(noted), noted.to))
      .catch(logError)
  }
  const readAll = () => store(items.value.map(item => ({ ...item, read: true })))
  function clear(): void {
    store([])
    const [newest] = messages.value ?? []
    if (!newest) return
    putMessages([])
    // Messages that could not be cleared come back with the next answer.
    void api.clearMessages({ query: { until: newest.id } }).catch(loadMessages)
  }

  /** Messages of administrators, newest first. The manager stores them, so that every computer shows them. */
  const {
    value: messages,
    again: loadMessages,
    put: putMessages,
  } = useFetched<readonly Message[]>({
    // The page works without messages. A failure of the manager is shown by the parts that need its answers.
    fetch: async (_, signal) => (await api.listMessages({ signal })).items,
    topics: ['message'],
    atOnce: false,
  })
  watch(messages, now => now && tell(now))
  function tell(now: readonly Message[]): void {
    for (const { id, from, text, sessions: named, about, detail } of now.toReversed()) {
      if (about && !isTold(about)) {
        add({ id, name: detail, ...TOLD_BY_BERTH[about] })
        continue
      }
      const [only] = named
      if (about) {
        const to = only ? `/sessions/${only.id}` : (PAGES[about] ?? '/account')
        add({ id, kind: `told_${about}`, name: detail, person: from, to })
        continue
      }
      const to = only && named.length === 1 ? `/sessions/${only.id}` : '/sessions'
      add({ id, kind: 'message', name: text, person: from, to })
    }
    const kept = new Set(now.map(({ id }) => id))
    // Messages may have been cleared on another computer.
    const left = items.value.filter(({ kind, id }) => !isOfMessage(kind) || kept.has(id))
    if (left.length < items.value.length) store(left)
  }

  const seen = new Map<SessionId, Seen>()
  /** Compares the sessions with their last known state. Seeing a session for the first time is not news. */
  function check(): void {
    const isKnown = sharedBefore !== null
    for (const session of sessions.byId.values()) {
      if (!account.owns(session)) {
        checkShared(session)
        continue
      }
      const before = seen.get(session.id)
      seen.set(session.id, seenOf(session))
      const kind = before && noticeKind(before, session)
      if (!kind) continue
      const id = `${session.id} ${kind} ${kind === 'ending' ? (warnedAtOf(session) ?? '') : ''}`
      add({ id, kind, name: session.name, to: `/sessions/${session.id}` })
    }
    const { live } = sessions.lists
    if (isKnown || live.status !== 'ready' || !live.complete) return
    sharedBefore = new Set([...sessions.byId.values()].filter(one => one.sharedAs !== null).map(({ id }) => id))
  }
  /** Sessions that others share with the person; null before the first complete list. */
  let sharedBefore: Set<SessionId> | null = null
  function checkShared({ id, name, sharedAs, ownerEmail }: Session): void {
    if (sharedAs === null || sharedBefore === null || sharedBefore.has(id)) return
    sharedBefore.add(id)
    add({ id: `${id} shared`, kind: 'shared', name, person: ownerEmail, to: `/sessions/${id}` })
  }
  let invited: ReadonlySet<string> | null = null
  function checkInvitations(): void {
    const now = invitations.items
    if (!now) return
    for (const { id, folder, from } of now) {
      if (invited !== null && !invited.has(id)) {
        add({ id, kind: 'invitation', name: folder.name, person: from.name || from.email, to: '/summary' })
      }
    }
    invited = new Set(now.map(({ id }) => id))
  }

  watchTunnels(add)

  /** Starts watching, once somebody is signed in. */
  function begin(): void {
    read()
    void sessions.load('live')
    void invitations.load()
    void loadMessages()
    // Every tab answers whether it is in front.
    const { requestIdleCallback: whenIdle } = globalThis as Partial<typeof globalThis>
    whenIdle?.(() => void desktop().catch(logError))
  }
  watch([() => sessions.live, () => sessions.finished], check)
  watch(() => invitations.items, checkInvitations)
  const onStorage = (event: StorageEvent) => {
    if (event.key === key.value) read()
  }
  globalThis.addEventListener('storage', onStorage)
  onScopeDispose(() => globalThis.removeEventListener('storage', onStorage))

  return { items, unread, begin, add, readAll, clear }
})
