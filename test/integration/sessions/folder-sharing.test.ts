import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import {
  type ApiClient,
  type Folder,
  type FolderInvitationId,
  type FolderPermission,
  isAppError,
  MOST_SHARES,
  type UserChange,
  type UserId,
} from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { apiOf } from '../../fixtures/manager.ts'
import { openEventStream } from '../../fixtures/event-stream.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'
import { type SmtpServer, startSmtpServer } from '../../fixtures/smtp-server.ts'

const PASSWORD = 'Their-own-pass-1'
const CONSOLE = 'https://console.example.org'

interface Someone {
  readonly id: UserId
  readonly email: string
  readonly token: string
  readonly api: ApiClient
}

let cluster: SessionsCluster
let smtp: SmtpServer
let ann: Someone
let bob: Someone
/** In another domain. */
let far: Someone
beforeAll(async () => {
  cluster = await startSessionsCluster()
  smtp = await startSmtpServer()
  const mail = {
    smtpHost: 'localhost',
    smtpPort: smtp.port,
    smtpSecurity: 'none',
    smtpFrom: 'berth@example.org',
  } as const
  await cluster.api.updateSettings({ body: { ...mail, publicUrl: CONSOLE } })
  await cluster.api.createDomain({ body: { name: 'elsewhere' } })
  ann = await someone('ann@example.org')
  bob = await someone('bob@example.org')
  far = await someone('far@example.org', 'elsewhere')
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  await smtp[Symbol.asyncDispose]()
})

async function someone(email: string, domain = 'default'): Promise<Someone> {
  await cluster.api.createUser({
    body: { email, name: email.split('@', 1)[0] ?? '', password: 'Of-an-admin-1', domain },
  })
  const body = { email, password: 'Of-an-admin-1', newPassword: PASSWORD, kind: 'token' } as const
  const { token, user } = await apiOf(cluster.url).login({ body })
  if (token === null) throw new Error('no token')
  return { id: user.id, email, token, api: apiOf(cluster.url, token) }
}

let counter = 0
let folder: Folder
beforeEach(async () => {
  folder = await ann.api.createFolder({ body: { name: `data-${++counter}` } })
})

const invite = (email: string, permission?: FolderPermission, { api }: Someone = ann) =>
  api.inviteToFolder({ params: { id: folder.id }, body: { email, ...(permission ? { permission } : {}) } })
const received = async ({ api }: Someone) =>
  (await api.listFolderInvitations()).items.filter(one => one.folder.id === folder.id)
const seen = async ({ api }: Someone) => (await api.listFolders()).items.find(({ id }) => id === folder.id)
const shares = () => ann.api.listFolderShares({ params: { id: folder.id } })
const accept = async (who: Someone) => {
  const [invitation] = await received(who)
  if (!invitation) throw new Error(`${who.email} has no invitation`)
  return who.api.acceptFolderInvitation({ params: { id: invitation.id } })
}
const launch = (who: Someone, name = folder.name) =>
  who.api.createSession({ body: { image: 'berth/python:3.13', folders: [{ folder: name }] } })
const withStorage = async () => {
  const marker = await readFile(join(cluster.source.dataDir, 'storage', '.berth-storage'), 'utf8')
  return cluster.join({ storage: [marker.trim()] })
}

describe('an invitation to a folder', () => {
  test('the user of the address sees the invitation, accepts it, and has the folder with its permission', async () => {
    const sent = await invite('bob@example.org')
    expect(sent).toMatchObject({ email: 'bob@example.org', permission: 'ro' })
    expect(await seen(bob)).toBeUndefined()
    expect(await received(bob)).toMatchObject([
      {
        id: sent.id,
        folder: { id: folder.id, name: folder.name },
        group: null,
        from: { email: 'ann@example.org', name: 'ann' },
        permission: 'ro',
      },
    ])
    expect(await accept(bob)).toMatchObject({
      id: folder.id,
      permission: 'ro',
      usable: true,
      manageable: false,
      invited: true,
      sharedWith: null,
      owner: { email: 'ann@example.org', name: 'ann' },
    })
    expect(await received(bob)).toEqual([])
    expect(await seen(ann)).toMatchObject({ permission: 'delete', invited: false, sharedWith: 1 })
    expect(await shares()).toMatchObject({
      members: [{ userId: bob.id, email: 'bob@example.org', permission: 'ro', sessions: 0 }],
      invitations: [],
    })
    expect(await refusal(invite('BOB@example.org'))).toMatchObject({ code: 'folder_member_exists' })
    // A member neither manages the folder nor sees the others.
    for (const call of [
      () => bob.api.listFolderShares({ params: { id: folder.id } }),
      () => invite('ann@example.org', 'rw', bob),
      () => bob.api.updateFolder({ params: { id: folder.id }, body: { name: 'mine-now' } }),
      () => bob.api.trashFolder({ params: { id: folder.id } }),
      () => bob.api.updateFolderMember({ params: { id: folder.id, userId: bob.id }, body: { permission: 'delete' } }),
    ]) {
      expect(await refusal(call())).toMatchObject({ code: 'forbidden' })
    }
  })

  test('an invitation to an address without an account, or with one in another domain, looks the same and has no effect', async () => {
    const [known, unknown, foreign] = [
      await invite('bob@example.org', 'rw'),
      await invite('nobody@example.org', 'rw'),
      await invite('far@example.org', 'rw'),
    ]
    const shape = ({ id: _id, email: _email, createdAt: _at, expiresAt: _to, ...rest }: typeof known) => rest
    expect([shape(unknown), shape(foreign)]).toEqual([shape(known), shape(known)])
    expect((await shares()).invitations.map(({ email }) => email)).toEqual([
      'bob@example.org',
      'far@example.org',
      'nobody@example.org',
    ])
    for (const { id } of [known, unknown, foreign]) {
      const params = { id: folder.id, invitationId: id }
      expect(await ann.api.updateFolderInvitation({ params, body: { permission: 'ro' } })).toMatchObject({ id })
    }
    expect(await received(far)).toEqual([])
    const stolen = far.api.acceptFolderInvitation({ params: { id: foreign.id } })
    expect(await refusal(stolen)).toMatchObject({ code: 'folder_invitation_not_found' })
    const others = bob.api.acceptFolderInvitation({ params: { id: unknown.id } })
    expect(await refusal(others)).toMatchObject({ code: 'folder_invitation_not_found' })
    // The account is created later, and finds the invitation.
    const late = await someone('nobody@example.org')
    expect(await accept(late)).toMatchObject({ permission: 'ro' })
    // Only the account got mail; a second invitation to the address sends none.
    await expect.poll(() => smtp.mailTo('bob@example.org', new RegExp(CONSOLE))).toBeDefined()
    await invite('bob@example.org', 'rw')
    const mailed = smtp.mails.filter(({ text }) => text.includes('invite'))
    for (const { to } of mailed) expect(to).toContain('bob@example.org')
  })

  test('an invitation is declined, withdrawn and replaced', async () => {
    const first = await invite('bob@example.org', 'rw')
    const second = await invite('Bob@example.org', 'delete')
    expect((await shares()).invitations).toMatchObject([{ id: second.id, permission: 'delete' }])
    const gone = bob.api.acceptFolderInvitation({ params: { id: first.id } })
    expect(await refusal(gone)).toMatchObject({ code: 'folder_invitation_not_found' })
    await bob.api.declineFolderInvitation({ params: { id: second.id } })
    expect([await received(bob), (await shares()).invitations]).toEqual([[], []])
    const { id: invitationId } = await invite('bob@example.org')
    const params = { id: folder.id, invitationId }
    await ann.api.deleteFolderInvitation({ params })
    for (const call of [
      () => ann.api.deleteFolderInvitation({ params }),
      () => bob.api.acceptFolderInvitation({ params: { id: invitationId } }),
      () => bob.api.declineFolderInvitation({ params: { id: invitationId } }),
    ]) {
      expect(await refusal(call())).toMatchObject({ code: 'folder_invitation_not_found' })
    }
  })

  test('nobody can invite themselves, invite to folders of others or in the trash, or send more than a hundred invitations', async () => {
    expect(await refusal(invite('Ann@example.org'))).toMatchObject({ code: 'bad_request' })
    expect(await refusal(invite('bob@example.org', 'ro', bob))).toMatchObject({ code: 'folder_not_found' })
    await invite('bob@example.org')
    await ann.api.trashFolder({ params: { id: folder.id } })
    expect(await received(bob)).toEqual([])
    expect(await refusal(invite('new@example.org'))).toMatchObject({ code: 'folder_not_found' })
    await ann.api.restoreFolder({ params: { id: folder.id } })
    expect(await received(bob)).toHaveLength(1)

    await using store = await openToRead({ ...cluster.source, log: silentLog })
    await sql`insert into folder_invitations (id, folder_id, email, permission, invited_by, expires_at)
      select gen_random_uuid(), ${folder.id}, 'guest-' || n, 'ro', ${ann.id}, now() + interval '1 day'
      from generate_series(2, ${MOST_SHARES}) n`.execute(store.db)
    expect(await refusal(invite('one-more@example.org'))).toMatchObject({ code: 'over_share_limit' })
    expect(await invite('bob@example.org', 'rw')).toMatchObject({ permission: 'rw' })
  })

  test('many invitations of one user have to wait longer and longer', async () => {
    const busy = await someone('busy@example.org')
    folder = await busy.api.createFolder({ body: { name: 'many' } })
    const all = Array.from({ length: 65 }, (_, index) => () => invite(`guest-${index}@example.org`, 'ro', busy))
    const codes: string[] = []
    for (const ask of all) {
      await ask().catch((error: unknown) => codes.push(isAppError(error) ? error.code : 'another error'))
    }
    expect(codes.length).toBeGreaterThan(1)
    expect(new Set(codes)).toEqual(new Set(['rate_limited']))
  })

  test('accepting, withdrawing and accepting twice at the same time: one of them succeeds', async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await invite('bob@example.org', 'rw')
      const params = { id }
      const [accepted, again, taken] = await Promise.allSettled([
        bob.api.acceptFolderInvitation({ params }),
        bob.api.acceptFolderInvitation({ params }),
        ann.api.deleteFolderInvitation({ params: { id: folder.id, invitationId: id } }),
      ])
      const won = [accepted, again, taken].filter(({ status }) => status === 'fulfilled')
      expect(won).toHaveLength(1)
      const { members } = await shares()
      expect(members).toHaveLength(taken.status === 'fulfilled' ? 0 : 1)
      if (members.length > 0) await ann.api.deleteFolderMember({ params: { id: folder.id, userId: bob.id } })
    }
  })
})

describe('a member of a folder', () => {
  test('a member mounts the folder with the current permission, and nothing new after it is withdrawn', async () => {
    await withStorage()
    await invite('bob@example.org', 'ro')
    await accept(bob)
    const { items: first } = await launch(bob)
    expect(first[0]?.folders).toMatchObject([{ folderId: folder.id, readOnly: true }])
    expect((await shares()).members).toMatchObject([{ sessions: 1 }])
    const params = { id: folder.id, userId: bob.id }
    expect(await ann.api.updateFolderMember({ params, body: { permission: 'rw' } })).toMatchObject({ permission: 'rw' })
    const { items: second } = await launch(bob)
    for (const { id } of [...first, ...second]) await cluster.reach(id, 'RUNNING')
    expect(second[0]?.folders).toMatchObject([{ folderId: folder.id, readOnly: false }])

    await ann.api.deleteFolderMember({ params })
    expect(await seen(bob)).toBeUndefined()
    expect(await refusal(launch(bob))).toMatchObject({ code: 'folder_not_found' })
    expect(await refusal(ann.api.deleteFolderMember({ params }))).toMatchObject({ code: 'folder_member_not_found' })
    // Sessions keep their mounts, so the folder stays in use until they end.
    expect(await refusal(ann.api.trashFolder({ params: { id: folder.id } }))).toMatchObject({ code: 'folder_in_use' })
    for (const session of [...first, ...second]) {
      await bob.api.deleteSession({ params: { id: session.id } })
      await cluster.reach(session.id, 'TERMINATED')
      expect(await refusal(bob.api.restartSession({ params: { id: session.id } }))).toMatchObject({
        code: 'folder_not_found',
      })
    }
    await ann.api.trashFolder({ params: { id: folder.id } })
    await cluster.reset()
  })

  test('a member refers to the folder by its name, or with its owner if several have that name', async () => {
    await withStorage()
    await invite('bob@example.org')
    await accept(bob)
    const own = await bob.api.createFolder({ body: { name: folder.name } })
    const { items: mine } = await launch(bob)
    expect(mine[0]?.folders).toMatchObject([{ folderId: own.id }])
    const { items: theirs } = await launch(bob, `ANN@example.org/${folder.name}`)
    expect(theirs[0]?.folders).toMatchObject([{ folderId: folder.id, path: `/home/work/${folder.name}` }])
    const cid = await someone(`cid-${counter}@example.org`)
    const other = await cid.api.createFolder({ body: { name: folder.name } })
    await cid.api.inviteToFolder({ params: { id: other.id }, body: { email: bob.email } })
    const [invitation] = (await bob.api.listFolderInvitations()).items.filter(one => one.folder.id === other.id)
    await bob.api.acceptFolderInvitation({ params: { id: invitation?.id ?? '' } })
    for (const { id } of [...mine, ...theirs]) await bob.api.deleteSession({ params: { id } })
    await expect.poll(async () => (await bob.api.listSessions({ query: { status: 'live' } })).total).toBe(0)
    await bob.api.trashFolder({ params: { id: own.id } })
    const unclear = await refusal(launch(bob))
    expect(unclear).toMatchObject({ code: 'folder_not_found' })
    expect(String(unclear.detail.why)).toContain(`"ann@example.org/${folder.name}"`)
    expect(String(unclear.detail.why)).toContain(`"cid-${counter}@example.org/${folder.name}"`)
    await cluster.reset()
  })

  test('a member leaves the folder; its owner and members of its project cannot', async () => {
    await invite('bob@example.org', 'delete')
    await accept(bob)
    const params = { id: folder.id }
    await bob.api.leaveFolder({ params })
    expect([await seen(bob), (await shares()).members]).toEqual([undefined, []])
    expect(await refusal(bob.api.leaveFolder({ params }))).toMatchObject({ code: 'folder_not_found' })
    expect(await refusal(ann.api.leaveFolder({ params }))).toMatchObject({ code: 'folder_member_not_found' })
  })

  test('a member who is moved to another domain does not see the folder', async () => {
    await invite('bob@example.org')
    await accept(bob)
    const there = await cluster.move(bob.id, 'elsewhere')
    expect((await there.listFolders()).items.map(({ id }) => id)).not.toContain(folder.id)
    await cluster.move(bob.id, 'default')
    const { token } = await apiOf(cluster.url).login({ body: { email: bob.email, password: PASSWORD, kind: 'token' } })
    bob = { ...bob, token: token ?? '', api: apiOf(cluster.url, token ?? '') }
    expect(await seen(bob)).toMatchObject({ permission: 'ro' })
  })
})

test('an admin of a project invites to its folder, also members of the project, who then have the larger permission', async () => {
  const group = await cluster.api.createGroup({ body: { name: 'vision' } })
  const { user } = await cluster.api.me()
  for (const userId of [user.id, ann.id]) await cluster.api.addGroupMember({ params: { id: group.id, userId } })
  folder = await cluster.api.createFolder({ body: { name: 'set', group: 'vision', permission: 'ro' } })
  const admin: Someone = { id: user.id, email: user.email, token: '', api: cluster.api }
  for (const { email } of [ann, bob]) await invite(email, 'rw', admin)
  expect(await received(bob)).toMatchObject([{ group: { name: 'vision' }, from: { email: user.email } }])
  for (const one of [ann, bob]) {
    await accept(one)
    expect(await seen(one)).toMatchObject({ permission: 'rw', group: { name: 'vision' }, owner: null, invited: true })
  }
  await ann.api.leaveFolder({ params: { id: folder.id } })
  expect(await seen(ann)).toMatchObject({ permission: 'ro', invited: false })
  await bob.api.leaveFolder({ params: { id: folder.id } })
  expect(await seen(bob)).toBeUndefined()
})

describe('an invitation to the folder of a project, whose inviter', () => {
  type Lose = (lead: Someone, domain: string) => Promise<unknown>
  const put = (lead: Someone, body: UserChange) => cluster.api.updateUser({ params: { id: lead.id }, body })
  const LOSSES: readonly (readonly [string, Lose, Lose])[] = [
    ['was demoted', lead => put(lead, { role: 'user' }), lead => put(lead, { role: 'domain_admin' })],
    ['was deactivated', lead => put(lead, { active: false }), lead => put(lead, { active: true })],
    ['was moved', lead => put(lead, { domain: 'elsewhere' }), (lead, domain) => put(lead, { domain })],
    [
      'is a superadmin of a domain that was deactivated',
      async lead => {
        await cluster.api.createDomain({ body: { name: `closing-${counter}` } })
        await put(lead, { role: 'superadmin', domain: `closing-${counter}` })
        await cluster.api.updateDomain({ params: { name: `closing-${counter}` }, body: { active: false } })
      },
      () => cluster.api.updateDomain({ params: { name: `closing-${counter}` }, body: { active: true } }),
    ],
  ]

  test.each(LOSSES)('%s, has ended until the right is there again', async (_what, lose, regain) => {
    const name = `project-${counter}`
    const group = await cluster.api.createGroup({ body: { name } })
    const lead = await someone(`lead-${counter}@example.org`)
    await cluster.api.addGroupMember({ params: { id: group.id, userId: lead.id } })
    await put(lead, { role: 'domain_admin' })
    const { token } = await apiOf(cluster.url).login({ body: { email: lead.email, password: PASSWORD, kind: 'token' } })
    const api = apiOf(cluster.url, token ?? '')
    folder = await api.createFolder({ body: { name: 'set', group: name, permission: 'ro' } })
    const { id, ended } = await invite(bob.email, 'delete', { ...lead, api })
    expect(ended).toBe(false)
    const sent = async () => (await cluster.api.listFolderShares({ params: { id: folder.id } })).invitations
    await lose(lead, 'default')
    expect(await received(bob)).toEqual([])
    const late = bob.api.acceptFolderInvitation({ params: { id } })
    expect(await refusal(late)).toMatchObject({ code: 'folder_invitation_not_found' })
    expect(await sent()).toMatchObject([{ id, ended: true }])
    const params = { id: folder.id, invitationId: id }
    const changed = await cluster.api.updateFolderInvitation({ params, body: { permission: 'ro' } })
    expect(changed).toMatchObject({ permission: 'ro', ended: true })
    expect(await received(bob)).toEqual([])
    await regain(lead, 'default')
    expect(await sent()).toMatchObject([{ id, ended: false }])
    // Another manager of the folder may invite instead.
    const again = await cluster.api.inviteToFolder({ params: { id: folder.id }, body: { email: bob.email } })
    expect(await accept(bob)).toMatchObject({ permission: 'ro' })
    expect(again.ended).toBe(false)
  })

  test('has left the own folder behind by being deactivated, has ended', async () => {
    const gone = await someone(`gone-${counter}@example.org`)
    folder = await gone.api.createFolder({ body: { name: 'own' } })
    await invite(bob.email, 'rw', gone)
    expect(await received(bob)).toHaveLength(1)
    await put(gone, { active: false })
    expect(await received(bob)).toEqual([])
  })
})

test('a folder that is mounted automatically cannot be shared, and a shared one cannot become such a folder', async () => {
  const dotted = await ann.api.createFolder({ body: { name: '.local' } })
  const refused = ann.api.inviteToFolder({ params: { id: dotted.id }, body: { email: bob.email } })
  expect(await refusal(refused)).toMatchObject({ code: 'folder_shared' })
  const rename = () => ann.api.updateFolder({ params: { id: folder.id }, body: { name: '.ssh' } })
  await invite('nobody-yet@example.org')
  expect(await refusal(rename())).toMatchObject({ code: 'folder_shared' })
  const { invitations } = await shares()
  for (const { id } of invitations) {
    await ann.api.deleteFolderInvitation({ params: { id: folder.id, invitationId: id } })
  }
  expect(await rename()).toMatchObject({ name: '.ssh' })
})

test('pages of the owner and of the invited user get an event for each step, and nobody else does', async () => {
  const streams = await Promise.all([ann, bob, far].map(({ token }) => openEventStream(cluster.url, { token })))
  const hints = () =>
    streams.map(stream => stream.of('hint').filter(({ data }) => (data as { id: string }).id === folder.id).length)
  const { id: invitationId } = await invite('bob@example.org')
  await expect.poll(hints).toEqual([1, 1, 0])
  await bob.api.acceptFolderInvitation({ params: { id: invitationId } })
  await expect.poll(hints).toEqual([2, 2, 0])
  await ann.api.deleteFolderMember({ params: { id: folder.id, userId: bob.id } })
  await expect.poll(hints).toEqual([3, 3, 0])
  for (const stream of streams) stream[Symbol.dispose]()
})

describe('an invitation to an address whose account an administrator makes afterwards', () => {
  const email = 'coming@example.org'
  const KNOWN = 'Known-to-the-lead-1'
  const enter = (password: string, newPassword?: string) =>
    apiOf(cluster.url).login({ body: { email, password, kind: 'token', ...(newPassword ? { newPassword } : {}) } })
  const received = async (token: string | null) => (await apiOf(cluster.url, token ?? '').listFolderInvitations()).items

  test('waits until the person has proved to own the address; the administrator cannot read it from inside', async () => {
    await cluster.api.createUser({
      body: {
        email: 'lead@example.org',
        name: 'Lead',
        password: PASSWORD,
        role: 'domain_admin',
        mustChangePassword: false,
      },
    })
    const { token: leads } = await apiOf(cluster.url).login({
      body: { email: 'lead@example.org', password: PASSWORD, kind: 'token' },
    })
    const lead = apiOf(cluster.url, leads ?? '')
    const folder = await ann.api.createFolder({ body: { name: 'for-coming' } })
    const params = { id: folder.id }
    const before = await ann.api.inviteToFolder({ params, body: { email } })
    const { id } = await lead.createUser({ body: { email, name: 'Coming', password: KNOWN } })
    const inside = await enter(KNOWN, 'Known-to-the-lead-2')
    expect(await received(inside.token)).toEqual([])
    const accept = (token: string | null, invitation: FolderInvitationId) =>
      refusal(apiOf(cluster.url, token ?? '').acceptFolderInvitation({ params: { id: invitation } }))
    expect(await accept(inside.token, before.id)).toMatchObject({ code: 'folder_invitation_not_found' })
    // The owner of the folder still sees it, and another invitation applies to the account as it is now.
    expect((await ann.api.listFolderShares({ params })).invitations).toMatchObject([{ id: before.id }])

    await lead.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
    await expect.poll(() => smtp.mailTo(email, /reset-password/)).toBeDefined()
    const link = /token=([\w-]+)/.exec(smtp.mailTo(email, /reset-password/)?.text ?? '')?.[1] ?? ''
    await apiOf(cluster.url).resetPassword({ body: { token: link, password: 'Chosen-by-person-3' } })
    const own = await enter('Chosen-by-person-3')
    expect(await received(own.token)).toMatchObject([{ id: before.id }])

    // The doubt returns: somebody enters the account again, with a link that the administrator received.
    await cluster.api.updateSettings({ body: { smtpHost: null } })
    try {
      const { url } = await lead.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
      const inHand = /token=([\w-]+)/.exec(url ?? '')?.[1] ?? ''
      await apiOf(cluster.url).resetPassword({ body: { token: inHand, password: 'Known-to-the-lead-4' } })
    } finally {
      await cluster.api.updateSettings({ body: { smtpHost: 'localhost' } })
    }
    const again = await enter('Known-to-the-lead-4')
    expect(await received(again.token)).toEqual([])
    const { id: next } = await ann.api.inviteToFolder({ params, body: { email } })
    expect(await received(again.token)).toMatchObject([{ id: next }])
  })
})
