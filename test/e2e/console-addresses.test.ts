import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { casesOf } from '../../build/bootstrap/test-sets.ts'
import { ADMIN_WORLD, aUser, SCIM_TOKEN } from './admin-world.ts'
import { agentId } from './admin-world-agents.ts'
import { A_TOKEN, aKeypair, OTHER_LOGIN, SSH_KEY, THIS_LOGIN } from './console-double-account.ts'
import { variedFolders } from './console-double-folders.ts'
import { openConsole, startBrowser } from './console-open.ts'
import { aSession } from './console-world.ts'

const AGENT = 'gpu-host-1.cluster.example.org'

/** Dialogs are part of the URL: Back closes them, and a copied URL opens them. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
const urlOf = (page: Page) => page.url().replace(/^.*#/, '')

test('Back closes the dialog of a session and stays on the page, Forward opens it again, and its URL opens it elsewhere', async () => {
  const session = aSession(1, { name: 'long-training', status: 'RUNNING' })
  await using it = await openConsole(browser, '/sessions?q=long', { sessions: [session] })
  const { page } = it
  const dialog = (of: Page) => of.getByRole('dialog')
  await button(page, 'Apps of long-training').click()
  await dialog(page).waitFor()
  const address = `/sessions?q=long&dialog=apps&of=${session.id}`
  expect(urlOf(page)).toBe(address)
  await page.goBack()
  await dialog(page).waitFor({ state: 'hidden' })
  expect(urlOf(page)).toBe('/sessions?q=long')
  await page.goForward()
  await dialog(page).waitFor()
  await page.keyboard.press('Escape')
  await dialog(page).waitFor({ state: 'hidden' })
  await expect.poll(() => urlOf(page)).toBe('/sessions?q=long')
  const other = await it.newTab(address)
  await dialog(other).waitFor()
  // The previous page was a different one: closing stays on this page.
  await other.keyboard.press('Escape')
  await dialog(other).waitFor({ state: 'hidden' })
  expect(urlOf(other)).toBe('/sessions?q=long')
  const closed = await it.newTab('/sessions?dialog=apps&of=00000000-0000-4000-8000-000000000000')
  await closed.getByText('long-training').waitFor()
  await expect.poll(() => urlOf(closed)).toBe('/sessions')
})

test('the launch dialog has a URL on every page', async () => {
  await using it = await openConsole(browser, '/account?dialog=launch')
  const heading = it.page.getByRole('heading', { name: 'New session' })
  await heading.waitFor()
  await it.page.keyboard.press('Escape')
  await heading.waitFor({ state: 'hidden' })
  await expect.poll(() => urlOf(it.page)).toBe('/account')
})

test('dialogs of administration have URLs, and one of a thing that is gone closes', async () => {
  await using it = await openConsole(browser, '/admin/presets', { role: 'superadmin' })
  const { page } = it
  await button(page, 'Create a preset').click()
  await page.getByRole('dialog').waitFor()
  expect(urlOf(page)).toBe('/admin/presets?dialog=new')
  await page.goBack()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  const gone = await it.newTab('/admin/presets?dialog=edit&of=nothing')
  await expect.poll(() => urlOf(gone)).toBe('/admin/presets')
})

const REQUEST = ADMIN_WORLD.admin!.signUpRequests![0]!
const PROJECT = ADMIN_WORLD.admin!.groups![1]!
const [IDLE] = ADMIN_WORLD.admin!.idle!
const BACKUP = 'berth-20261121-180000.backup'
const WAITS = aSession(8, { name: 'waits-for-a-gpu', status: 'PENDING', startedAt: null })
/** A session of somebody else, and not among the rows, which show only unfinished sessions. */
const ENDED = aSession(9, { name: 'over', status: 'TERMINATED', ownerId: aUser(4).id, ownerEmail: aUser(4).email })
const KEY = aKeypair(1)
const BACKUPS = {
  directory: '/mnt/backups',
  manager: 'https://berth.example.org',
  freeBytes: 1.9e11,
  problem: null,
  items: [{ name: BACKUP, madeAt: '2026-11-21T18:00:00.000Z', bytes: 48_239_104 }],
  nextAt: null,
  running: null,
  last: null,
  lastDone: null,
}
/** Page of administration, its title, dialog in its address, and the title of that. */
const ADMIN_DIALOGS = [
  ['/admin/images', 'Images', 'pull', 'Pull an image'],
  ['/admin/images', 'Images', 'pull&of=berth/python:3.13', 'Pull an image'],
  ['/admin/images', 'Images', 'minimum&of=berth/python:3.13', 'Minimum of berth/python:3.13'],
  ['/admin/images', 'Images', 'aliases&of=berth/python:3.13', 'Aliases of berth/python:3.13'],
  ['/admin/images', 'Images', 'details&of=berth/python:3.13', 'Details of berth/python:3.13'],
  ['/admin/images', 'Images', 'build', 'Build an image from a recipe'],
  ['/admin/images', 'Images', 'clean-up', 'Clean up images?'],
  ['/admin/users', 'Users', 'new', 'Create a user'],
  ['/admin/users', 'Users', 'import', 'Import users'],
  ['/admin/users', 'Users', `edit&of=${aUser(2).id}`, `Edit ${aUser(2).email}`],
  // Inactive, so not among the rows.
  ['/admin/users', 'Users', `edit&of=${aUser(3).id}`, `Edit ${aUser(3).email}`],
  ['/admin/users', 'Users', `deactivate&of=${aUser(2).id}`, `Deactivate ${aUser(2).email}?`],
  [`/admin/users/${aUser(6).id}`, aUser(6).email, 'edit', `Edit ${aUser(6).email}`],
  [`/admin/users/${aUser(6).id}`, aUser(6).email, 'end-sign-ins', `End all sign-ins of ${aUser(6).email}?`],
  [
    `/admin/users/${aUser(6).id}`,
    aUser(6).email,
    'reset-second-factor',
    `Switch the second factor of ${aUser(6).email} off?`,
  ],
  [`/admin/users/${aUser(6).id}`, aUser(6).email, 'unlink', `Unlink ${aUser(6).email} from all providers?`],
  ['/admin/agents', 'Agents', `move&of=${agentId(1)}`, `Move ${AGENT} to another resource group`],
  [`/admin/agents/${agentId(1)}`, AGENT, 'move', `Move ${AGENT} to another resource group`],
  [`/admin/agents/${agentId(1)}`, AGENT, 'forget', `Forget ${AGENT}?`],
  ['/admin/resource-groups', 'Resource groups', 'access&of=default', 'Who may use default'],
  ['/admin/resource-groups', 'Resource groups', 'close&of=default', 'Pause the resource group default?'],
  ['/admin/resource-groups/access', 'Access to resource groups', 'users&of=default', 'Who may use default'],
  ['/admin/policies', 'Resource policies', 'use&of=students', 'Use of the limits of students'],
  ['/admin/domains', 'Domains', 'use&of=chemistry', 'Use of the limits of chemistry'],
  ['/admin/projects', 'Projects', `use&of=${PROJECT.id}`, 'Use of the limits of vision'],
  ['/admin/projects', 'Projects', `deactivate&of=${PROJECT.id}`, 'Deactivate the project vision?'],
  ['/admin/credentials', 'Credentials', `deactivate&of=${KEY.accessKey}`, `Deactivate ${KEY.accessKey}?`],
  ['/admin/invitations', 'Invitations', 'invite', 'Invite by link'],
  ['/admin/scim-tokens', 'SCIM tokens', 'new', 'Make a SCIM token'],
  ['/admin/scim-tokens', 'SCIM tokens', `end&of=${SCIM_TOKEN.id}`, `End the token ${SCIM_TOKEN.name}?`],
  ['/admin/invitations', 'Invitations', `accept&of=${REQUEST.id}`, `Make an account for ${REQUEST.email}?`],
  ['/admin/invitations', 'Invitations', `decline&of=${REQUEST.id}`, `Decline the request of ${REQUEST.email}?`],
  ['/admin/maintenance', 'Maintenance', 'pause', 'Start no session for now?'],
  ['/admin/maintenance', 'Maintenance', 'clean-up', 'Clean up images?'],
  ['/admin/maintenance', 'Maintenance', `delete-backup&of=${BACKUP}`, `Delete ${BACKUP}?`],
  ['/admin/usage', 'Usage', `remind&of=${IDLE!.ownerId}`, 'Message to the owners of 2 sessions'],
  ['/admin/usage', 'Usage', `end&of=${IDLE!.ownerId}`, 'Terminate 2 sessions?'],
  ['/admin/sessions', 'All sessions', `end&of=${WAITS.id},${ENDED.id}`, 'Cancel “waits-for-a-gpu”?'],
  ['/admin/sessions', 'All sessions', `message&of=${WAITS.id},${ENDED.id}`, 'Message to the owners of 2 sessions'],
  ['/admin/queue', 'Queue', 'pause', 'Start no session for now?'],
  ['/admin/queue', 'Queue', `priority&of=${WAITS.id}`, 'Priority of waits-for-a-gpu'],
  ['/admin/queue', 'Queue', `cancel&of=${WAITS.id}`, 'Cancel “waits-for-a-gpu”?'],
  ['/admin/audit', 'Audit log', 'entry&of=900', 'Change settings'],
] as const

/** `npm test` opens every other dialog by its URL: all keep it by `useDialogAddress`, which has tests beside its code. */
const adminDialogs = casesOf(ADMIN_DIALOGS, 2)

test('dialogs of administration open by their URLs, and Back closes them; a URL opens no more than the page offers', async () => {
  await using it = await openConsole(browser, '/summary', {
    ...ADMIN_WORLD,
    sessions: [WAITS, ENDED],
    admin: { ...ADMIN_WORLD.admin, backups: BACKUPS },
  })
  const { page } = it
  const dialog = page.getByRole('dialog').or(page.getByRole('alertdialog'))
  const go = (path: string) => page.evaluate(next => void (location.hash = next), path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  const found: string[][] = []
  for (const [path, title, name] of adminDialogs) {
    await go(path)
    await page.getByRole('heading', { name: title, level: 1 }).waitFor()
    await go(`${path}?dialog=${name}`)
    found.push([path, title, name, (await dialog.getByRole('heading').first().textContent())?.trim() ?? ''])
    await page.goBack()
    await dialog.waitFor({ state: 'hidden' })
    expect(urlOf(page)).toBe(path)
  }
  expect(found).toEqual(adminDialogs)

  await go('/admin/images')
  await button(page, 'Edit the aliases of berth/python:3.13').click()
  await dialog.waitFor()
  expect(urlOf(page)).toBe('/admin/images?dialog=aliases&of=berth/python:3.13')
  // The account is inactive, and has no second factor.
  await go(`/admin/users?dialog=deactivate&of=${aUser(3).id}`)
  await expect.poll(() => urlOf(page)).toBe('/admin/users')
  await go(`/admin/users/${aUser(2).id}?dialog=reset-second-factor`)
  await page.getByRole('heading', { name: aUser(2).email, level: 1 }).waitFor()
  expect(await dialog.count()).toBe(0)
})

test('forms of the account have URLs; the set-up of a second factor that is on does not open', async () => {
  await using it = await openConsole(browser, '/account?dialog=password')
  const { page } = it
  await page.getByRole('dialog', { name: 'Change password' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await expect.poll(() => urlOf(page)).toBe('/account')
  await button(page, 'Use an existing key').click()
  await page.getByRole('dialog').waitFor()
  expect(urlOf(page)).toBe('/account?dialog=ssh-key')
  await page.goBack()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  const other = await it.newTab('/account?dialog=second-factor')
  await other.getByRole('dialog').waitFor()
  it.world.totp = { enabled: true, recoveryCodesLeft: 8 }
  const on = await it.newTab('/account?dialog=second-factor')
  await expect.poll(() => urlOf(on)).toBe('/account')
  expect(await on.getByRole('dialog').count()).toBe(0)
})

const CHARTS = aSession(3, {
  name: 'charts',
  apps: [{ name: 'tensorboard', title: 'TensorBoard', protocol: 'http', path: '/' }],
})
test('a dialog that a dialog opens has its own part of the URL, and Back closes the innermost first', async () => {
  const published = { items: [], publishing: { on: true, maxHours: 168, ports: null } }
  await using it = await openConsole(browser, '/sessions', { sessions: [CHARTS], published })
  const { page } = it
  const heading = (of: Page, name: string) => of.getByRole('heading', { name })
  const outer = `/sessions?dialog=apps&of=${CHARTS.id}`
  await button(page, 'Apps of charts').click()
  for (const [open, over, title] of [
    [button(page, 'New link'), 'publish', 'Open to public'],
    [page.locator('.tile-button', { hasText: 'TensorBoard' }), 'options&overOf=tensorboard', 'Options of TensorBoard'],
    [page.locator('.tile-button', { hasText: 'SSH' }), 'ssh', 'SSH and SFTP to charts'],
  ] as const) {
    await page.getByRole('tab', { name: over === 'publish' ? 'Ports and links' : 'Apps' }).click()
    await open.click()
    const inner = page.getByRole('dialog', { name: title })
    await inner.waitFor()
    expect(urlOf(page)).toBe(`${outer}&over=${over}`)
    await page.goBack()
    await inner.waitFor({ state: 'hidden' })
    await expect.poll(() => urlOf(page)).toBe(outer)
    await heading(page, 'Apps of charts').waitFor()
  }
  await page.locator('.tile-button', { hasText: 'TensorBoard' }).click()
  const [tab] = await Promise.all([page.context().waitForEvent('page'), button(page, /^Start$/).click()])
  await expect.poll(() => urlOf(page)).toBe(outer)
  await page.getByRole('dialog', { name: 'Options of TensorBoard' }).waitFor({ state: 'hidden' })
  await tab.close()

  const other = await it.newTab(`${outer}&over=options&overOf=tensorboard`)
  await other.getByRole('dialog', { name: 'Options of TensorBoard' }).waitFor()
  await other.keyboard.press('Escape')
  await expect.poll(() => urlOf(other)).toBe(outer)
  await heading(other, 'Apps of charts').waitFor()
  const publishing = await it.newTab(`${outer}&over=publish`)
  await publishing.getByRole('dialog', { name: 'Open to public' }).waitFor()
  // The session has no such app.
  const gone = await it.newTab(`${outer}&over=options&overOf=none`)
  await expect.poll(() => urlOf(gone)).toBe(outer)

  // The form of the launch is in no URL, so neither are its dialogs; Back still keeps the form.
  await page.goBack()
  await heading(page, 'Apps of charts').waitFor({ state: 'hidden' })
  await button(page, 'New session').click()
  const name = page.getByLabel('Name optional')
  await name.fill('kept')
  await button(page, 'Templates and recent').click()
  await button(page, 'Import').click()
  const inner = page.getByRole('dialog', { name: 'Import a repository or notebook' })
  await inner.waitFor()
  await page.goBack()
  await inner.waitFor({ state: 'hidden' })
  await expect.poll(() => urlOf(page)).toBe('/sessions?dialog=launch')
  expect(await name.inputValue()).toBe('kept')
})

const CHANGED_AT = '2026-11-01T09:00:00.000Z'
const IDENTITY = {
  issuer: 'https://id.example.org',
  subject: '8f14e45f',
  email: 'mira.holm@university.example.org',
  createdAt: CHANGED_AT,
  lastUsedAt: CHANGED_AT,
  provider: 'University',
}
const RUNNING = aSession(7, {
  name: 'long-training',
  folders: [
    { folderId: variedFolders()[4]!.id, name: 'papers', path: '/home/work/papers', readOnly: true, added: true },
  ],
})
/** Page, dialog in its address, and the title. Nothing happens before the person confirms. */
const DIALOGS = [
  ['/sessions', `password`, 'Change password'],
  ['/sessions', `shortcuts`, 'Keyboard shortcuts'],
  ['/sessions', `usage`, 'Usage and limits'],
  ['/sessions', `end&of=${RUNNING.id}`, 'Terminate “long-training”?'],
  ['/sessions', `end&of=${RUNNING.id},${aSession(8).id}`, 'Terminate 2 sessions?'],
  ['/summary', `apps&of=${RUNNING.id}`, 'Apps of long-training'],
  [`/sessions/${RUNNING.id}?tab=details`, 'image', 'This session as an image'],
  [`/sessions/${RUNNING.id}?tab=details`, 'add-folder', 'Add a folder to long-training'],
  [
    `/sessions/${RUNNING.id}?tab=details`,
    `take-folder&of=${variedFolders()[4]!.id}`,
    'Take papers out of long-training?',
  ],
  ['/account', 'recovery-codes', 'New recovery codes'],
  ['/account', 'no-second-factor', 'Switch off the second factor'],
  ['/account', 'link&of=lab', 'Link an account of Example Lab'],
  ['/account', `unlink&of=${IDENTITY.issuer}%20${IDENTITY.subject}`, 'Unlink mira.holm@university.example.org?'],
  ['/account', `remove-keypair&of=${aKeypair(0).accessKey}`, `Delete the access key ${aKeypair(0).accessKey}?`],
  ['/account', 'end-sign-ins', 'End all other sign-ins?'],
  ['/account', 'new-keypair', 'New access key'],
  ['/account', 'new-token', 'New access token'],
  ['/account', `end-token&of=${A_TOKEN.id}`, 'End the access token Coding agent?'],
  ['/account', 'new-ssh-key', 'Generate a new SSH key?'],
  ['/account', 'remove-ssh-key', 'Remove your SSH key?'],
  ['/preferences', 'dotfile', 'New dotfile'],
  ['/preferences', 'dotfile&of=.config/git/config', 'Edit .config/git/config'],
  ['/preferences', 'remove-dotfile&of=.bashrc', 'Remove the dotfile .bashrc?'],
  ['/preferences', 'start-script', 'Start-up script'],
  ['/preferences', 'remove-start-script', 'Remove the start-up script?'],
] as const

const dialogs = casesOf(DIALOGS, 2)

test('dialogs of sessions, account and preferences open by their URLs, Back closes them, and nothing was sent', async () => {
  await using it = await openConsole(browser, '/summary', {
    sessions: [RUNNING, aSession(8)],
    folders: variedFolders(),
    totp: { enabled: true, recoveryCodesLeft: 8 },
    keypairs: [aKeypair(0)],
    tokens: [A_TOKEN],
    sshKey: SSH_KEY,
    logins: [THIS_LOGIN, OTHER_LOGIN],
    authOptions: { providers: [{ id: 'lab', name: 'Example Lab', kind: 'oidc' }] },
    identities: [IDENTITY],
    bootstrapScript: { script: 'pip install rich\n', changedAt: CHANGED_AT },
    dotfiles: ['.bashrc', '.config/git/config'].map(path => ({
      path,
      content: '# mine\n',
      mode: '644',
      changedAt: CHANGED_AT,
    })),
  })
  const { page } = it
  const dialog = page.getByRole('dialog').or(page.getByRole('alertdialog'))
  const go = (path: string) => page.evaluate(next => void (location.hash = next), path)
  const HEADINGS = { sessions: 'Sessions', summary: 'Summary', account: 'Your account', preferences: 'Preferences' }
  await page.getByRole('heading', { name: 'Summary' }).waitFor()
  const found: Record<string, string> = {}
  for (const [path, name] of dialogs) {
    await go(path)
    const section = /[a-z]+/.exec(path)?.[0] as keyof typeof HEADINGS
    await page.getByRole('heading', { name: HEADINGS[section], level: 1 }).waitFor()
    if (path.includes('tab=')) await page.getByRole('heading', { name: 'long-training' }).waitFor()
    const address = `${path}${path.includes('?') ? '&' : '?'}dialog=${name}`
    await go(address)
    found[name] = (await dialog.getByRole('heading').first().textContent())?.trim() ?? ''
    await page.goBack()
    await dialog.waitFor({ state: 'hidden' })
    expect(urlOf(page)).toBe(path)
  }
  expect(found).toEqual(Object.fromEntries(dialogs.map(([, name, title]) => [name, title])))
  expect(it.world.changes).toEqual([])
})

test('a URL of a dialog about something that is gone, or that cannot be done, opens nothing and is corrected', async () => {
  const ended = aSession(9, { status: 'TERMINATED', endedAt: CHANGED_AT })
  await using it = await openConsole(browser, '/summary', { sessions: [ended], dotfiles: [] })
  const { page } = it
  await page.getByRole('heading', { name: 'Summary' }).waitFor()
  for (const address of [
    `/sessions?dialog=end&of=${ended.id}`,
    '/account?dialog=recovery-codes',
    '/account?dialog=remove-keypair&of=AKIAGONE',
    '/preferences?dialog=dotfile&of=.gone',
    '/preferences?dialog=remove-start-script',
  ]) {
    await page.evaluate(next => void (location.hash = next), address)
    await expect.poll(() => urlOf(page), { message: address }).toBe(address.replace(/\?.*/, ''))
    expect(await page.getByRole('dialog').or(page.getByRole('alertdialog')).count()).toBe(0)
  }
})

test('Back asks before it closes a text that is not saved', async () => {
  await using it = await openConsole(browser, '/preferences', { dotfiles: [] })
  const { page } = it
  await button(page, 'New dotfile').click()
  await page.getByLabel('Path in the home').fill('.vimrc')
  await page.getByRole('dialog').getByRole('textbox', { name: 'Content' }).fill('set number')
  const question = page.getByRole('alertdialog', { name: 'Discard your changes?' })
  await page.goBack()
  await question.getByRole('button', { name: 'Keep' }).click()
  await question.waitFor({ state: 'hidden' })
  await page.getByText('set number').waitFor()
  expect(urlOf(page)).toBe('/preferences?dialog=dotfile')
  await page.goBack()
  await question.getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await expect.poll(() => urlOf(page)).toBe('/preferences')
})

test('an address that is entered before the first page is there is followed', async () => {
  await using it = await openConsole(browser, '/account')
  const page = await it.page.context().newPage()
  const { promise: entered, resolve: enter } = Promise.withResolvers<undefined>()
  const { promise: asked, resolve: ask } = Promise.withResolvers<undefined>()
  await page.route('**/api/v1/me', async route => {
    ask(undefined)
    await entered
    await route.fallback()
  })
  await page.goto(`${it.double.url}/#/summary`)
  await asked
  await page.evaluate(() => {
    location.hash = '/data'
  })
  enter(undefined)
  await page.getByRole('heading', { name: 'Data & Storage', level: 1 }).waitFor()
  expect(urlOf(page)).toBe('/data')
})
