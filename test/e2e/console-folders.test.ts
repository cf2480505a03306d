import { type Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { because, type FolderSpec, toldBy } from '#manager/contract'
import { ADMIN_WORLD } from './admin-world.ts'
import { aFolder, LOCAL, variedFolders } from './console-double-folders.ts'
import { openConsole, startBrowser } from './console-open.ts'
import { aSession, ENDED_KERNEL } from './console-world.ts'
import { button } from './scene.ts'

/** The page "Data & Storage" against a double of the manager: what people do there, the address, long lists. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

test('a folder is made by keyboard, renamed, moved to the trash and back, and deleted by typing its name', async () => {
  await using console = await openConsole(browser, '/data')
  const { page, world } = console
  await page.getByText('You have no folder yet').waitFor()
  await page.keyboard.press('n')
  await page.keyboard.type('run data')
  await page.getByText('No spaces; use “-” instead').waitFor()
  await page.getByLabel('Name', { exact: true }).fill('run-data')
  await page.getByLabel('Most files').fill('1.5')
  await page.getByText('Enter a whole number between 1 and').waitFor()
  await page.getByLabel('Most files').fill('1,000')
  await page.keyboard.press('Enter')
  await page.getByText('Created run-data.').waitFor()

  await button(page, 'Change run-data').click()
  await page.getByRole('combobox', { name: 'What it is for' }).press('ArrowDown')
  await page.getByRole('option', { name: /^Model/ }).click()
  await page.getByLabel('Name', { exact: true }).fill('results')
  await page.getByLabel('Most files').fill('2000')
  await page.keyboard.press('Enter')
  await page.getByText('Renamed to results.').waitFor()
  await page.getByRole('cell', { name: /results Model/ }).waitFor()
  expect(world.changes.map(({ body }) => (body as Partial<FolderSpec> | undefined)?.maxFiles)).toEqual([1_000, 2_000])

  await button(page, 'Move results to trash').click()
  await button(page, /^Move to trash$/).click()
  await button(page, 'Undo').click()
  await button(page, 'Move results to trash').click()
  await button(page, /^Move to trash$/).click()
  await page.getByText('You have no folder yet').waitFor()

  await page.getByRole('tab', { name: 'Trash' }).click()
  expect(page.url()).toContain('tab=trash')
  await button(page, 'Delete results permanently').click()
  await page.getByLabel('Type the name of the folder').fill('Results')
  await page.keyboard.press('Enter')
  await page.getByText('Does not match the name “results”').waitFor()
  expect(world.changes.filter(({ request }) => request.startsWith('DELETE'))).toEqual([])
  await page.getByLabel('Type the name of the folder').fill('results')
  await page.keyboard.press('Enter')
  await page.getByText('The trash is empty').waitFor()
  expect(world.folders).toEqual([])
  await page.goBack()
  await page.getByText('You have no folder yet').waitFor()
})

test('a shared folder is left, a folder is cloned with its progress, and a size limit is checked and sent in bytes', async () => {
  await using console = await openConsole(browser, '/data', { folders: variedFolders() })
  const { page, world } = console
  await button(page, 'Leave genomes').click()
  const question = page.getByRole('alertdialog')
  await question.getByText('You lose access to its files').waitFor()
  await question.getByRole('button', { name: 'Leave' }).click()
  await page.getByText('You left genomes.').waitFor()
  await expect.poll(() => page.locator('.table .name').allTextContents()).not.toContain('genomes')

  await button(page, 'Clone papers').click()
  const name = page.getByLabel('Name of the new folder')
  await name.fill('experiments')
  await page.getByText('There is a folder “experiments” already').waitFor()
  await name.fill('papers-2026')
  await page.keyboard.press('Enter')
  await page.getByText('Copying: 1,284 files').waitFor()
  await button(page, 'Cancel copying to papers-2026').waitFor()

  await button(page, 'Change papers').click()
  await page.getByLabel('Size limit in GiB').fill('a lot')
  await page.keyboard.press('Enter')
  await page.getByText('Enter a number of GiB between').waitFor()
  await page.getByLabel('Size limit in GiB').fill('1.5')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  const sent = world.changes.map(({ request, body }) => [request.replace(/[0-9a-f-]{36}/, 'ID'), body])
  expect(sent).toEqual([
    ['POST /api/v1/folders/ID/leave', undefined],
    ['POST /api/v1/folders/ID/clone', { name: 'papers-2026', storageHost: 'local' }],
    ['PATCH /api/v1/folders/ID', { maxBytes: 1.5 * 2 ** 30 }],
  ])
})

test('search, tab and order are in the address, and a folder that another tab makes appears by itself', async () => {
  await using console = await openConsole(browser, '/data?q=vision&sort=-name', { folders: variedFolders() })
  const { page, world, double } = console
  const names = () => page.locator('.table .name').allTextContents()
  await expect.poll(names).toEqual(['models'])
  world.folders?.push(aFolder(9, { name: 'zoo' }))
  double.emit('hint', { topic: 'folder', id: 'all', version: 1 })
  await page.getByLabel('Search folders').fill('you')
  await expect
    .poll(names)
    .toEqual(['zoo', 'papers', 'imagenet-2012-train-and-validation-sets', 'experiments', '.local'])
  await page.getByRole('tab', { name: /^Automount/ }).click()
  await expect.poll(names).toEqual(['.local'])
  expect(page.url()).toContain('tab=automount')
  await page.goBack()
  await page.getByLabel('Search folders').fill('zoo')
  await expect.poll(names).toEqual(['zoo'])
  expect(page.url()).toContain('q=zoo')
})

test('a session that waits does not count as one that uses the folder, and the dialog says what becomes of it', async () => {
  const [folder] = variedFolders()
  if (!folder) throw new Error('no folder')
  const [running, waiting] = [aSession(1), aSession(2, { status: 'PENDING' })].map((session, index) => ({
    ...session,
    name: ['runs-now', 'waits-now'][index] ?? '',
    folders: [{ folderId: folder.id, name: folder.name, path: '/home/work/data', readOnly: false }],
  }))
  if (!running || !waiting) throw new Error('no sessions')
  await using console = await openConsole(browser, '/data', { folders: [folder], sessions: [running, waiting] })
  const { page } = console
  await page.getByText('In use: runs-now', { exact: true }).waitFor()
  await button(page, 'Move experiments to trash').click()
  await page.getByRole('link', { name: 'runs-now' }).waitFor()
  await page.getByText('sessions that wait with it start only once you restore it').waitFor()
  expect(await page.getByRole('link', { name: 'waits-now' }).count()).toBe(0)
})

test('a refusal because sessions use the folder is shown in the dialog, and nothing is moved', async () => {
  const [folder] = variedFolders()
  if (!folder) throw new Error('no folder')
  const why = 'Live sessions use "experiments": night-run. End them first.'
  await using console = await openConsole(browser, '/data', {
    folders: [folder],
    failures: new Map([[`POST /api/v1/folders/${folder.id}/trash`, { code: 'folder_in_use', detail: { why } }]]),
  })
  const { page } = console
  await button(page, 'Move experiments to trash').click()
  await button(page, /^Move to trash$/).click()
  await page.getByRole('alert').getByText(why).waitFor()
  await button(page, 'Cancel').click()
  expect(await page.locator('.table .name').allTextContents()).toEqual(['experiments'])
})

test('a superadmin who is no member makes a folder of a project', async () => {
  await using it = await openConsole(browser, '/data', { ...ADMIN_WORLD, projects: [], folders: [aFolder(1)] })
  await it.page.getByText('folder-1').waitFor()
  await button(it.page, 'New folder').click()
  await it.page.getByLabel('Name', { exact: true }).fill('shared')
  await it.page.getByRole('combobox', { name: 'Belongs to' }).press('ArrowDown')
  await it.page.getByRole('option', { name: 'Project vision' }).click()
  await it.page.getByRole('dialog').locator('button[type="submit"]').click()
  const vision = ADMIN_WORLD.admin?.groups?.find(({ name }) => name === 'vision')
  await expect
    .poll(() => it.world.changes.find(({ request }) => request === 'POST /api/v1/folders')?.body)
    .toMatchObject({ name: 'shared', group: vision!.id })
})

test('10,000 folders render one screenful of rows, at the top and at the end', async () => {
  const folders = Array.from({ length: 10_000 }, (_, index) => aFolder(index))
  await using console = await openConsole(browser, '/data', { folders })
  const { page } = console
  await page.getByText('folder-0', { exact: true }).waitFor()
  expect(await page.locator('.table .row').count()).toBeLessThan(60)
  await page.locator('.table-scroller').evaluate(list => list.scrollTo(0, list.scrollHeight))
  await page.getByText('folder-9999', { exact: true }).waitFor()
  expect(await page.locator('.table .row').count()).toBeLessThan(60)
})

test('the notice of a storage that is away goes by itself when the storage is back', async () => {
  const away = { name: 'archive', problem: 'It is not mounted.', space: null }
  await using console = await openConsole(browser, '/data', {
    folders: variedFolders(),
    storageHosts: [LOCAL, away],
  })
  const { page, world } = console
  const notice = page.getByText('Storage “archive” cannot be used now')
  await notice.waitFor()
  await page.getByText('imagenet-2012-train-and-validation-sets').first().waitFor()
  world.storageHosts = [LOCAL, { ...LOCAL, name: 'archive' }]
  await notice.waitFor({ state: 'detached' })
})

test('folders are added to a running session and taken out; where that is not possible, it starts again with others', async () => {
  const [experiments] = variedFolders()
  if (!experiments) throw new Error('no folder')
  const launched = { folderId: experiments.id, name: 'experiments', path: '/home/work/experiments', readOnly: false }
  const session = aSession(7, { folders: [launched] })
  const change = { sessions: [session], folders: variedFolders(), foldersBusy: true }
  await using console = await openConsole(browser, `/sessions/${session.id}?tab=details`, change)
  const { page, world } = console
  await page.getByText('Folders that the session started with stay').waitFor()
  await button(page, 'Add folder').click()
  const dialog = page.getByRole('dialog', { name: `Add a folder to ${session.name}` })
  const submit = dialog.getByRole('button', { name: 'Add folder' })
  await submit.click()
  await dialog.getByText('Choose a folder.').waitFor()
  await dialog.getByRole('combobox', { name: 'Folder' }).press('ArrowDown')
  await page.getByRole('option', { name: /papers/ }).click()
  const path = dialog.getByLabel('Path in the session')
  await path.fill('experiments/below')
  await dialog.getByText('Same path as “experiments”').waitFor()
  await path.fill('taken')
  await submit.click()
  await dialog.getByText('there is something at "taken"').waitFor()
  await path.fill('')
  await dialog.getByLabel('Read only').check()
  await submit.click()
  await page.getByText(`papers is in ${session.name} now.`).waitFor()
  expect(world.sessions[0]?.folders.at(-1)).toMatchObject({ path: '/home/work/papers', readOnly: true, added: true })

  await button(page, 'Take out papers').click()
  const question = page.getByRole('alertdialog')
  await question.getByRole('button', { name: 'Take out' }).click()
  await question.getByText('Close the files and leave the directory').waitFor()
  await question.getByLabel('Also while programs use it').check()
  await question.getByRole('button', { name: 'Take out' }).click()
  await page.getByText(`papers is not in ${session.name} any more.`).waitFor()
  expect(world.sessions[0]?.folders).toEqual([launched])

  // An ended session starts again with other folders.
  Object.assign(session, {
    status: 'TERMINATED',
    kernels: [ENDED_KERNEL],
    endedAt: new Date().toISOString(),
    version: session.version + 1,
  })
  await page.reload()
  await button(page, 'Start again with other folders').click()
  const again = page.getByRole('dialog', { name: `Start ${session.name} again with other folders` })
  await again.getByRole('button', { name: 'Do not mount experiments' }).click()
  await again.getByRole('combobox', { name: 'Choose folders to mount' }).press('ArrowDown')
  await page.getByRole('option', { name: /papers/ }).click()
  await page.keyboard.press('Escape')
  await again.getByRole('button', { name: 'Start again' }).click()
  await page.getByText('is started again.').waitFor()
  expect(world.changes.at(-1)).toMatchObject({
    request: `POST /api/v1/sessions/${session.id}/restart`,
    body: { folders: [{ folder: aFolder(5).id }] },
  })
})

test('a running session whose folders are fixed says why, and is ended before it starts again with others', async () => {
  const foldersFixed = toldBy(because('folders_container_older'))
  const session = aSession(7, { foldersFixed })
  await using it = await openConsole(browser, `/sessions/${session.id}?tab=details`, {
    sessions: [session],
    folders: variedFolders(),
  })
  const { page, world, double } = it
  await page.getByText('Folders cannot be added now: Its container was made').waitFor()
  expect(await button(page, 'Add folder').count()).toBe(0)
  await button(page, 'Start again with other folders').click()
  await button(page, 'End and start again').click()
  await expect
    .poll(() => world.changes.map(({ request }) => request))
    .toEqual([`DELETE /api/v1/sessions/${session.id}`])
  const version = session.version + 1
  Object.assign(session, { status: 'TERMINATED', kernels: [ENDED_KERNEL], endedAt: new Date().toISOString(), version })
  double.emit('hint', { topic: 'session', id: session.id, version })
  await page.getByText('is started again.').waitFor()
  expect(world.changes.at(-1)?.request).toBe(`POST /api/v1/sessions/${session.id}/restart`)
})

test('the port for SFTP is opened by a press, not by the dialog; one that is open is shown at once', async () => {
  await using console = await openConsole(browser, '/data')
  const { page, world } = console
  const opened: string[] = []
  page.on('request', request => request.url().endsWith('/host/sftp/open') && opened.push(request.url()))
  await button(page, 'Connect with SFTP').click()
  await button(page, /^Open$/).waitFor()
  expect(opened).toEqual([])
  await button(page, /^Open$/).click()
  await page.getByText('FileZilla site').waitFor()
  expect(opened).toHaveLength(1)

  await page.keyboard.press('Escape')
  Object.assign(world, {
    folderPort: { host: '127.0.0.1', port: 40_100, connections: 1, openedAt: new Date().toISOString() },
  })
  await button(page, 'Connect with SFTP').click()
  await page.getByText('FileZilla site').waitFor()
  expect(opened).toHaveLength(2)
})
