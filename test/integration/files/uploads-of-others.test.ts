import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ApiClient, type Folder, TUS_CONTENT, TUS_VERSION, type UploadId } from '#manager/contract'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { refusal } from '../../fixtures/sessions-cluster.ts'

/** Unfinished uploads of people who lost the right to a folder reserve no space in it; whoever manages it sees and ends all of them. */
const MIB = 2 ** 20
const headers = { 'tus-resumable': TUS_VERSION }

interface User {
  readonly id: string
  readonly email: string
  readonly token: string
  readonly api: ApiClient
}

let manager: TestManager
let admin: ApiClient
let owner: User
let member: User
let folder: Folder

beforeAll(async () => {
  manager = await startTestManager()
  admin = (await manager.signIn()).api
  await admin.createDomain({ body: { name: 'elsewhere' } })
  owner = await userOf('owner')
})
afterAll(() => manager[Symbol.asyncDispose]())
beforeEach(async () => {
  member = await userOf(`member-${randomUUID().slice(0, 8)}`)
  folder = await owner.api.createFolder({ body: { name: `of-${member.email.slice(0, 15)}`, maxBytes: 3 * MIB } })
  await owner.api.inviteToFolder({ params: { id: folder.id }, body: { email: member.email, permission: 'rw' } })
  const { items } = await member.api.listFolderInvitations()
  for (const { id } of items) await member.api.acceptFolderInvitation({ params: { id } })
})

async function userOf(name: string): Promise<User> {
  const email = `${name}@example.org`
  return { email, ...(await manager.addUser(email)) }
}

/** Begins an upload of 2 MiB without bytes. @returns its id, or the code of the refusal */
async function begin({ token }: User, path: string, into = folder): Promise<UploadId> {
  const reply = await fetch(`${manager.url}/api/v1/folders/${into.id}/uploads`, {
    method: 'POST',
    headers: {
      ...headers,
      authorization: `Bearer ${token}`,
      'upload-length': String(2 * MIB),
      'upload-metadata': `path ${Buffer.from(path).toString('base64')}`,
      'content-type': TUS_CONTENT,
    },
  })
  const body = (await reply.json()) as { id: UploadId; code?: string }
  return reply.ok ? body.id : (body.code as UploadId)
}
const cancel = ({ api }: User, uploadId: UploadId) => api.cancelUpload({ params: { id: folder.id, uploadId }, headers })
const others = async ({ api }: User) =>
  (await api.listUploads({ params: { id: folder.id }, query: { others: 'true' } })).items

describe('an upload holds no room of a folder any more whose person', () => {
  const params = () => ({ id: folder.id, userId: member.id as never })
  test.each<[string, () => Promise<unknown>]>([
    ['was removed', () => owner.api.deleteFolderMember({ params: params() })],
    ['may only read now', () => owner.api.updateFolderMember({ params: params(), body: { permission: 'ro' } })],
    ['has left', () => member.api.leaveFolder({ params: { id: folder.id } })],
    ['was deactivated', () => admin.updateUser({ params: { id: member.id }, body: { active: false } })],
    ['was moved', () => admin.updateUser({ params: { id: member.id }, body: { domain: 'elsewhere' } })],
  ])('%s', async (_what, lose) => {
    await begin(member, 'theirs')
    expect(await begin(owner, 'mine')).toBe('quota_folder_full')
    await lose()
    expect(await begin(owner, 'mine')).not.toBe('quota_folder_full')
    expect(await others(owner)).toEqual([])
  })

  test('has left its project; members who stay hold theirs', async () => {
    const group = await admin.createGroup({
      body: { name: `group-${randomUUID().slice(0, 8)}`, maxFolderBytes: 3 * MIB },
    })
    for (const { id } of [owner, member]) await admin.addGroupMember({ params: { id: group.id, userId: id } })
    const { user } = await admin.me()
    await admin.addGroupMember({ params: { id: group.id, userId: user.id } })
    folder = await admin.createFolder({ body: { name: 'set', group: group.id, permission: 'rw' } })
    await begin(member, 'theirs')
    expect(await begin(owner, 'mine')).toBe('quota_total_full')
    await admin.removeGroupMember({ params: { id: group.id, userId: member.id } })
    expect(await begin(owner, 'mine')).not.toBe('quota_total_full')
    expect(await begin(owner, 'more')).toBe('quota_total_full')
  })
})

test('whoever manages a folder sees uploads of others with their person, and ends them', async () => {
  const [theirs, mine] = [await begin(member, 'in/theirs'), await begin(owner, 'mine')]
  expect(mine).toBe('quota_folder_full')
  const { email } = member
  expect(await others(owner)).toMatchObject([
    { id: theirs, path: 'in/theirs', size: 2 * MIB, offset: 0, by: { email } },
  ])
  expect((await owner.api.listUploads({ params: { id: folder.id } })).items).toEqual([])
  expect(await refusal(others(member))).toMatchObject({ code: 'forbidden' })
  await cancel(owner, theirs)
  expect(await others(owner)).toEqual([])
  const own = await begin(owner, 'mine')
  expect((await owner.api.listUploads({ params: { id: folder.id } })).items).toMatchObject([{ id: own, by: null }])
  expect(await refusal(cancel(member, own))).toMatchObject({ code: 'upload_not_found' })
})

test('the own upload is cancelled also without the right to the folder', async () => {
  const id = await begin(member, 'theirs')
  await owner.api.deleteFolderMember({ params: { id: folder.id, userId: member.id } })
  await cancel(member, id)
  expect(await refusal(cancel(member, id))).toMatchObject({ code: 'folder_not_found' })
})
