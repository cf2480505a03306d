// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest'
import { AppError, type Message, type ReceivedFolderInvitation, type Session } from '#manager/contract'
import { aMe } from '../../testing/a-me.ts'
import { aSession, idOf, OWNER } from '../../testing/a-session.ts'
import { withServices } from '../../testing/services.ts'
import { useAccount } from '../../data/account/useAccount.ts'
import { useSessions } from '../../data/sessions/useSessions.ts'
import { useInvitations } from '../../data/folders/useInvitations.ts'
import { noticeText } from './notice-text.ts'
import { useNotices } from './useNotices.ts'

beforeEach(() => globalThis.localStorage.clear())

const aMessage = (id: string, text: string): Message => ({
  about: null,
  detail: '',
  id,
  at: '2026-11-20T12:00:00.000Z',
  from: 'admin@localhost',
  text,
  sessions: [{ id: idOf(1), name: 'train' }],
})

/** A manager with these messages, and a page that has started. */
async function begun(server: { messages: Message[]; failing?: boolean }) {
  const { app, pinia, events } = withServices({
    listMessages: () => Promise.resolve({ items: server.messages }),
    clearMessages: input => {
      if (server.failing) return Promise.reject(new AppError('internal'))
      server.messages = server.messages.filter(({ id }) => id > (input?.query?.until ?? ''))
      return Promise.resolve()
    },
  })
  const notices = app.runWithContext(() => useNotices(pinia))
  notices.begin()
  await expect.poll(() => notices.items).toHaveLength(server.messages.length)
  return { notices, events }
}
const texts = (items: Parameters<typeof noticeText>[0][]) => items.map(noticeText)

test('messages of administrators are notices, old ones and new ones, each once', async () => {
  const server = { messages: [aMessage('b', 'Second'), aMessage('a', 'First')] }
  const { notices, events } = await begun(server)
  expect(texts([...notices.items])).toEqual(['admin@localhost: Second', 'admin@localhost: First'])
  expect(notices.items[0]?.to).toBe(`/sessions/${idOf(1)}`)
  notices.readAll()
  server.messages = [aMessage('c', 'Third'), ...server.messages]
  events.hint({ topic: 'message', id: 'me', version: 1 })
  await expect.poll(() => notices.items).toHaveLength(3)
  expect(notices.unread).toBe(1)
})

test.each([
  [
    'backup_failed',
    'backupFailed',
    '/admin/maintenance',
    'A backup of Berth failed. See what is wrong in Maintenance.',
  ],
  [
    'certificate',
    'certificate',
    '/admin/about',
    'A certificate of Berth has ended, ends soon or was not renewed. See what to do in About.',
  ],
  ['gpu_fault', 'gpuFault', '/admin/agents', 'No session starts on a GPU of a host: gpu-1. See why in Agents.'],
  ['host_fault', 'hostFault', '/admin/agents', 'No session can start on the host gpu-1. See why in Agents.'],
  ['host_update', 'hostUpdate', '/admin/agents', 'The update of the host gpu-1 failed. See why in Agents.'],
  [
    'webhook_failing',
    'webhookFailing',
    '/admin/webhooks',
    'An event could not be sent to the webhook gpu-1 for a day, and was given up. See why in Webhooks.',
  ],
  [
    'webhook_off',
    'webhookOff',
    '/admin/webhooks',
    'The webhook gpu-1 was switched off: its receiver takes no events. See why in Webhooks.',
  ],
  [
    'webhook_owner',
    'webhookOwner',
    '/account',
    'The webhook gpu-1 was switched off, because its owner may not administer what it tells of any more.',
  ],
  ['host_well', 'hostWell', '/admin/agents', 'Sessions can start on the host gpu-1 again.'],
] as const)(
  'what Berth tells about %s leads superadmins to its page, and is cleared like a message',
  async (about, kind, to, text) => {
    const told: Message = {
      ...aMessage('a', 'English words for mails'),
      from: 'Berth',
      sessions: [],
      about,
      detail: 'gpu-1',
    }
    const server = { messages: [told] }
    const { notices } = await begun(server)
    expect(notices.items[0]).toMatchObject({ kind, to })
    expect(texts([...notices.items])).toEqual([text])
    notices.clear()
    await expect.poll(() => server.messages).toEqual([])
  },
)

test('what others did about the account is told in the words of the page, and leads to the account', async () => {
  const told: Message = { ...aMessage('a', 'English words'), sessions: [], about: 'keypair_made', detail: 'AKIAONE' }
  const { notices } = await begun({ messages: [told] })
  expect(notices.items[0]).toMatchObject({ kind: 'told_keypair_made', to: '/account' })
  expect(texts([...notices.items])).toEqual([
    'admin@localhost made the access key AKIAONE for you. It opens nothing until you accept it.',
  ])
})

test.each([
  ['left_invitations', '/admin/invitations'],
  ['left_account_links', '/admin/users'],
  ['left_webhooks', '/admin/webhooks'],
  ['left_scim_tokens', '/admin/audit'],
  ['own_script_by_keypair', '/account'],
] as const)('what is left to an administrator leads to the page that ends it: %s', async (about, to) => {
  const { notices } = await begun({ messages: [{ ...aMessage('a', 'English'), sessions: [], about, detail: 'x' }] })
  expect(notices.items[0]).toMatchObject({ kind: `told_${about}`, to })
})

test.each([
  ['.bashrc, .zshrc', 'the dotfiles .bashrc, .zshrc. Delete'],
  ['.bashrc, .zshrc\n+12', 'the dotfiles .bashrc, .zshrc and 12 more. Delete'],
])('names that a message leaves out are counted: %j', (detail, expected) => {
  expect(noticeText({ kind: 'told_left_dotfiles', name: detail })).toContain(expected)
})

test('cleared messages are cleared on the manager, and disappear from other computers', async () => {
  const server = { messages: [aMessage('b', 'Second'), aMessage('a', 'First')] }
  const { notices, events } = await begun(server)
  notices.clear()
  await expect.poll(() => server.messages).toEqual([])
  expect(notices.items).toEqual([])

  server.messages = [aMessage('c', 'Third')]
  events.hint({ topic: 'message', id: 'me', version: 1 })
  await expect.poll(() => notices.items).toHaveLength(1)
  server.messages = []
  events.hint({ topic: 'message', id: 'me', version: 2 })
  await expect.poll(() => notices.items).toEqual([])
})

test('a message that could not be cleared comes back', async () => {
  const { notices } = await begun({ messages: [aMessage('a', 'First')], failing: true })
  notices.clear()
  expect(notices.items).toEqual([])
  await expect.poll(() => texts([...notices.items])).toEqual(['admin@localhost: First'])
})

/** A page of somebody with these sessions and invitations, which the test changes. */
async function watching(server: { sessions: Session[]; invitations: ReceivedFolderInvitation[] }) {
  const { app, pinia, events } = withServices({
    me: () => Promise.resolve(aMe(OWNER)),
    listMessages: () => Promise.resolve({ items: [] }),
    listFolderInvitations: () => Promise.resolve({ items: server.invitations }),
    listSessions: ({ query } = {}) => {
      const items = server.sessions.filter(({ id }) => query?.ids === undefined || query.ids.split(',').includes(id))
      return Promise.resolve({ items, nextCursor: null, total: items.length })
    },
  })
  return await app.runWithContext(async () => {
    await useAccount(pinia).begin()
    const notices = useNotices(pinia)
    notices.begin()
    await expect.poll(() => useSessions(pinia).lists.live.status).toBe('ready')
    await expect.poll(() => useInvitations(pinia).items).not.toBeNull()
    return { notices, events }
  })
}
const PERSON = { email: 'jonas@example.com', name: 'Jonas' }
const anInvitation = (id: string, folder: string) =>
  ({
    id,
    folder: { id, name: folder },
    group: null,
    from: PERSON,
    permission: 'rw',
  }) as unknown as ReceivedFolderInvitation

test('invitations and sessions of others that arrive are notices; those that were there are not', async () => {
  const shared = (index: number, name: string) =>
    aSession(index, { name, ownerId: 'another' as Session['ownerId'], ownerEmail: PERSON.email, sharedAs: 'use' })
  const server = { sessions: [shared(1, 'old')], invitations: [anInvitation('a', 'old')] }
  const { notices, events } = await watching(server)
  expect(notices.items).toEqual([])

  server.sessions = [...server.sessions, shared(2, 'pair')]
  server.invitations = [...server.invitations, anInvitation('b', 'datasets')]
  events.hint({ topic: 'session', id: idOf(2), version: 1 })
  events.hint({ topic: 'folder', id: 'b', version: 1 })
  await expect.poll(() => notices.items.map(({ kind }) => kind).toSorted()).toEqual(['invitation', 'shared'])
  expect(texts([...notices.items]).toSorted()).toEqual([
    'Jonas invites you to the folder datasets',
    'jonas@example.com shares the session pair with you',
  ])
  expect(notices.items.map(({ to }) => to).toSorted()).toEqual([`/sessions/${idOf(2)}`, '/summary'])
})

test('ended uploads are notices with their number of files', async () => {
  const { notices } = await watching({ sessions: [], invitations: [] })
  notices.add({ id: 'u1', kind: 'uploaded', name: '', count: 3, to: '/data/a' })
  notices.add({ id: 'u2', kind: 'uploadFailed', name: '', count: 1, to: '/data/a' })
  notices.add({ id: 'u2', kind: 'uploadFailed', name: '', count: 1, to: '/data/a' })
  expect(texts([...notices.items])).toEqual(['1 file was not uploaded', '3 files were uploaded'])
})
