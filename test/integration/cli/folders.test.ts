import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type Folder, type FolderShares } from '#manager/contract'
import { type Cli, createCli } from '../../fixtures/cli.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** `berth folder …` as a user types it. */

let cluster: SessionsCluster
let cli: Cli
let ada: ApiClient
beforeAll(async () => {
  cluster = await startSessionsCluster()
  cli = await createCli()
  await cli.signIn(cluster.url)
  ada = await cluster.addUser('ada@example.org')
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  await cli[Symbol.asyncDispose]()
})

const folder = (...args: string[]) => cli.run(['folder', ...args])
const json = async <T>(...args: string[]): Promise<T> => JSON.parse((await folder(...args, '--json')).out) as T

test('sharing a folder: invite, list and change members, withdraw', async () => {
  await folder('create', 'data')
  expect(await folder('share', 'data', 'ada@example.org', '--permission', 'all')).toMatchObject({ code: 2 })
  expect(await folder('share', 'none', 'ada@example.org')).toMatchObject({ code: 4 })
  expect((await folder('share', 'data', 'Ada@example.org', '--permission', 'rw')).out).toContain('read and write')
  const [invitation] = (await ada.listFolderInvitations()).items
  await ada.acceptFolderInvitation({ params: { id: invitation?.id ?? '' } })
  await folder('share', 'data', 'nobody@example.org')
  const { out } = await folder('members', 'data')
  expect(out).toMatch(/ada@example\.org +read and write +member\n/)
  expect(out).toMatch(/nobody@example\.org +read only +invited, until \d{4}-\d\d-\d\dT/)
  for (const email of ['ADA@example.org', 'nobody@example.org']) {
    expect((await folder('permit', 'data', 'delete', '--member', email)).out).toContain('read, write and delete')
  }
  expect((await folder('permit', 'data', 'ro')).err).toContain('--member')
  expect((await folder('unshare', 'data', 'grace@example.org')).err).toContain('is not shared with grace@example.org')
  for (const email of ['ada@example.org', 'nobody@example.org']) {
    expect(await folder('unshare', 'data', email)).toMatchObject({ code: 0 })
  }
  expect(await json<FolderShares>('members', 'data')).toEqual({ members: [], invitations: [] })
})

test('the places for folders are listed with the room that is left, and the number of folders', async () => {
  const { out } = await folder('hosts')
  expect(out).toMatch(/^NAME +USED +FREE +STATE\nlocal +[\d.]+ \w+ +[\d.]+ \w+ +ready\n/)
  expect(out).toMatch(/^Own folders, those in the trash included: \d+$/m)
})

test('an invitation is accepted or declined by the name of its folder, which is shown with its owner', async () => {
  for (const name of ['data', 'other']) {
    const { id } = await ada.createFolder({ body: { name } })
    await ada.inviteToFolder({ params: { id }, body: { email: 'admin@localhost' } })
  }
  expect((await folder('invitations')).out).toMatch(/^data +ada@example\.org +ada@example\.org +read only/m)
  expect(await json<Folder>('invitations', 'accept', 'data')).toMatchObject({ name: 'data', invited: true })
  expect(await folder('invitations', 'decline', 'other')).toMatchObject({ code: 0 })
  expect((await folder('invitations', 'decline', 'other')).err).toContain('folder_invitation_not_found')
  const { out } = await folder('ls')
  expect(out).toMatch(/^data +you +general +read, write and delete/m)
  expect(out).toMatch(/^data +ada@example\.org +general +read only/m)
  expect((await folder('leave', 'data')).err).toContain('You manage "data"')
  expect(await folder('leave', 'ada@example.org/data')).toMatchObject({ code: 0 })
  expect((await folder('ls')).out).not.toContain('ada@example.org')
})
