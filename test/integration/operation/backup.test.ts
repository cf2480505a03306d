import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { Secret, TOTP } from 'otpauth'
import { describe, expect, test } from 'vitest'
import { signRequest, type UserId } from '#manager/contract'
import { backup, restore } from '../../../manager/backup/backup.ts'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { readShapes } from '../../../manager/store/operation/snapshot.ts'
import { execute, root } from '../../fixtures/berth.ts'
import { BACKENDS, createDatabase } from '../../fixtures/database.ts'
import { signedApi, startTestManager, temporaryDirectory, type TestManager } from '../../fixtures/manager.ts'
import { scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'

const PASSPHRASE = 'a long enough passphrase'

/** Every row of every permanent table, as text. */
async function contentOf(source: { dataDir: string; databaseUrl: string | undefined }) {
  await using store = await openToRead({ ...source, log: silentLog })
  const content: Record<string, string[]> = {}
  for (const { name } of await readShapes(store.db)) {
    const { rows } = await sql<{ row: string }>`select t::text as row from ${sql.table(name)} t order by 1`.execute(
      store.db,
    )
    content[name] = rows.map(({ row }) => row)
  }
  return content
}

/** Counts and times of use are written shortly after the request. */
const WRITES_COME_WITHIN_MS = 1_500

/** The content once no more writes happen. */
async function settledContentOf(source: Parameters<typeof contentOf>[0]) {
  let content = await contentOf(source)
  let unchanged = 0
  const look = async () => {
    const before = content
    content = await contentOf(source)
    unchanged = isDeepStrictEqual(before, content) ? unchanged + 1 : 0
    return unchanged
  }
  // The first look comes at once, the second after the interval.
  await expect.poll(look, { interval: WRITES_COME_WITHIN_MS, timeout: 30_000 }).toBe(2)
  return content
}

describe.each(BACKENDS)('backup and restore on %s PostgreSQL', (_name, backend) => {
  test('a drill: a filled Berth is saved while it runs and restored elsewhere, with equal rows, and its users sign in', async () => {
    await using stack = new AsyncDisposableStack()
    const { path: place } = stack.use(await temporaryDirectory())
    const { path: otherDir } = stack.use(await temporaryDirectory())
    const otherUrl = backend === 'embedded' ? undefined : stack.use(await createDatabase(backend)).url
    const file = join(place, 'berth.backup')
    let content: Record<string, string[]>
    let masterKey: Buffer
    const before: { things?: OneTimeThings } = {}
    const keypair: { accessKey: string; secretKey: string } = { accessKey: '', secretKey: '' }
    let port: number
    const who = { email: 'kim@example.org', password: 'Their-own-pass-1' }
    {
      await using manager = await startTestManager({ backend })
      await manager.addUser(who.email)
      const admin = await manager.signIn()
      await admin.api.createUser({
        body: {
          mustChangePassword: false,
          email: 'odd@example.org',
          name: 'Ö "quoted", \\back (slash) {brace} NULL',
          password: 'Their-own-pass-1',
        },
      })
      const { id } = (await admin.api.listUsers({ query: { search: who.email } })).items[0] ?? {}
      if (!id) throw new Error('the user is not there')
      before.things = await makeOneTimeThings(manager, id)
      Object.assign(keypair, await admin.api.createKeypair({ body: {} }))
      port = Number(new URL(manager.url).port)
      const { source } = manager
      const masterKeyFile = join(manager.dataDir, 'master.key')
      masterKey = await readFile(masterKeyFile)
      content = await settledContentOf(source)
      const outcome = await backup({ ...source, file, masterKeyFile, passphrase: PASSPHRASE, log: silentLog })
      expect(outcome).toMatchObject({ rows: Object.values(content).flat().length, withKey: true })
      expect((await stat(file)).mode & 0o777).toBe(0o600)
      await expect(
        backup({ ...source, file, masterKeyFile, passphrase: undefined, log: silentLog }),
      ).rejects.toMatchObject({ code: 'bad_request' })
      // The one that was saved is in use.
      await expect(
        restore({
          dataDir: otherDir,
          databaseUrl: await urlOf(source),
          file,
          masterKeyFile: join(place, 'k'),
          passphrase: PASSPHRASE,
          log: silentLog,
        }),
      ).rejects.toMatchObject({ code: 'database_not_empty' })
    }

    const target = {
      dataDir: otherDir,
      databaseUrl: otherUrl,
      file,
      masterKeyFile: join(otherDir, 'master.key'),
      log: silentLog,
    }
    await expect(restore({ ...target, passphrase: undefined })).rejects.toMatchObject({ code: 'bad_request' })
    await expect(restore({ ...target, passphrase: 'another passphrase' })).rejects.toMatchObject({
      code: 'bad_request',
    })
    const cut = join(place, 'cut.backup')
    const bytes = await readFile(file)
    await writeFile(cut, bytes.subarray(0, bytes.length - 20))
    await expect(restore({ ...target, file: cut, passphrase: PASSPHRASE })).rejects.toMatchObject({
      code: 'backup_damaged',
    })
    await restore({ ...target, passphrase: PASSPHRASE })
    expect(await readFile(join(otherDir, 'master.key'))).toEqual(masterKey)
    expect((await stat(join(otherDir, 'master.key'))).mode & 0o777).toBe(0o600)
    const restoredContent = await contentOf(target)
    // A restored database starts paused.
    const isNew = (row: string) => /^.(scheduling_paused|restored_at),/.test(row)
    expect(restoredContent.settings?.filter(isNew)).toHaveLength(2)
    const settings = restoredContent.settings?.filter(row => !isNew(row))
    // Compared separately: single-use things have ended.
    const { invitations, users, folder_invitations } = restoredContent
    expect(invitations).toHaveLength(content.invitations?.length ?? -1)
    expect(users).toHaveLength(content.users?.length ?? -1)
    expect(folder_invitations).toHaveLength(content.folder_invitations?.length ?? -1)
    const ended = { invitations, users, folder_invitations }
    expect({ ...restoredContent, settings, ...ended }).toEqual({ ...content, ...ended })

    await using restored = await startTestManager({ dataDir: otherDir, databaseUrl: otherUrl, port })
    await expectNothingWorksTwice(restored, before.things)
    expect((await signedApi(restored.url, keypair).me()).user.email).toBe('admin@localhost')
    const { api } = await restored.signIn(who)
    expect((await api.me()).user.email).toBe(who.email)
    const admin = await restored.signIn()
    expect((await admin.api.listUsers()).items.map(user => user.name)).toContain(
      'Ö "quoted", \\back (slash) {brace} NULL',
    )
  })
})

/** One-time links, tokens and sign-ins, as they were when the backup was made. */
interface OneTimeThings {
  readonly resetToken: string
  readonly verifyToken: string
  readonly invitation: string
  readonly ticket: string
  readonly join: string
  readonly bearer: string
  readonly totp: { readonly email: string; readonly secret: string }
  readonly signed: { readonly url: string; readonly headers: Readonly<Record<string, string>> }
}

async function makeOneTimeThings(manager: TestManager, userId: UserId): Promise<OneTimeThings> {
  const { api, token: bearer } = await manager.signIn()
  const tokenOf = (link: { url: string | null }) => link.url?.split('token=')[1] ?? ''
  await api.updateSettings({ body: { allowSignUp: 'open' } })
  await manager.api().signUp({ body: { email: 'new@example.org', name: 'New', password: 'Their-own-pass-1' } })
  const unconfirmed = (await api.listUsers({ query: { search: 'new@example.org' } })).items[0]?.id as UserId
  await api.updateSettings({ body: { allowSignUp: 'invitation' } })
  const [resetLink, verifyLink] = [
    await api.createAccountLink({ params: { id: userId }, body: { purpose: 'reset' } }),
    await api.createAccountLink({ params: { id: unconfirmed }, body: { purpose: 'verify' } }),
  ]
  const totpUser = await manager.addUser('totp@example.org')
  const { secret } = await totpUser.api.enrolTotp({ body: { password: 'Their-own-pass-1' } })
  await totpUser.api.confirmTotp({ body: { code: codeOf(secret) } })
  const { id } = await api.createFolder({ body: { name: 'invited-once' } })
  await api.inviteToFolder({ params: { id }, body: { email: 'totp@example.org', permission: 'ro' } })
  const keypair = await api.createKeypair({ body: {} })
  const url = `${manager.url}/api/v1/me`
  const headers = await signRequest({ method: 'GET', url }, keypair)
  expect((await fetch(url, { headers })).status).toBe(200)
  return {
    resetToken: tokenOf(resetLink),
    verifyToken: tokenOf(verifyLink),
    invitation: (await api.createInvitation({ body: {} })).token,
    ticket: (await manager.manager.createSignInTicket()).ticket,
    join: (await manager.manager.createJoinToken()).join,
    bearer,
    totp: { email: 'totp@example.org', secret },
    signed: { url, headers },
  }
}

const codeOf = (secret: string) => new TOTP({ secret: Secret.fromBase32(secret) }).generate()

/** No single-use credential may work again: all of them may have been used, or withdrawn, since the backup. */
async function expectNothingWorksTwice(restored: TestManager, before: OneTimeThings): Promise<void> {
  const nobody = restored.api()
  const password = 'Brand-new-pass-2'
  const codeFor = (work: Promise<unknown>) =>
    work.then(
      () => 'worked',
      (error: unknown) => (error as { code: string }).code,
    )
  expect(await codeFor(nobody.resetPassword({ body: { token: before.resetToken, password } }))).toBe('link_invalid')
  const own = 'Their-own-pass-1'
  expect(await codeFor(nobody.verifyEmail({ body: { token: before.verifyToken, password: own } }))).toBe('link_invalid')
  const { invitation, ticket, totp } = before
  const signUp = { email: 'guest@example.org', name: 'Guest', password, invitation }
  expect(await codeFor(nobody.signUp({ body: signUp }))).toBe('invitation_invalid')
  expect(await codeFor(nobody.loginWithTicket({ body: { ticket } }))).toBe('ticket_invalid')
  expect(await codeFor(restored.api(before.bearer).me())).toBe('not_signed_in')
  const login = { email: totp.email, password: own, kind: 'token', totp: codeOf(totp.secret) } as const
  expect(await codeFor(nobody.login({ body: login }))).toBe('totp_invalid')
  const again = await fetch(before.signed.url, { headers: before.signed.headers })
  expect(await again.json()).toMatchObject({ code: 'signature_replayed' })
  await using home = await temporaryDirectory()
  const agent = startMeshAgent({ home: home.path, engine: scriptedEngine(), join: before.join })
  expect(await codeFor(agent)).toBe('join_token_invalid')
  const { api } = await restored.signIn()
  expect((await api.listInvitations()).items.map(({ status }) => status)).toEqual(['expired'])
  const folder = (await api.listFolders()).items.find(({ name }) => name === 'invited-once')
  expect(folder && (await api.listFolderShares({ params: { id: folder.id } })).invitations).toEqual([])
}

/** The address of the embedded server of a running manager. */
async function urlOf({ dataDir, databaseUrl }: { dataDir: string; databaseUrl: string | undefined }) {
  if (databaseUrl !== undefined) return databaseUrl
  const lines = (await readFile(join(dataDir, 'db', 'cluster', 'postmaster.pid'), 'utf8')).split('\n')
  return `postgresql://berth@${encodeURIComponent(lines[4] ?? '')}/postgres`
}

test('berth backup and berth restore work, report failures, and leave nothing behind when they fail', async () => {
  await using stack = new AsyncDisposableStack()
  const { path: place } = stack.use(await temporaryDirectory())
  const { path: otherDir } = stack.use(await temporaryDirectory())
  const environment = { ...process.env, DATABASE_URL: '' }
  const berth = (...args: string[]) => execute([join(root, 'bin/berth'), ...args], environment)
  const file = join(place, 'b')
  const none = await berth('backup', file, '--data', join(otherDir, 'none'))
  expect(none).toMatchObject({ code: 4, stderr: expect.stringContaining('There is no database') as string })
  await using manager = await startTestManager({ backend: 'embedded' })
  const saved = await berth('backup', file, '--data', manager.dataDir, '--json')
  expect(saved.stderr).toBe('')
  expect(JSON.parse(saved.stdout)).toMatchObject({ file, withKey: false })
  expect(await berth('restore', file, '--data', otherDir)).toMatchObject({ code: 0, stderr: '' })
  const again = await berth('restore', file, '--data', otherDir)
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('database_not_empty') as string })
})
