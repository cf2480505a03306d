import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Locator } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aFolder, type DoubleFiles, filesOf, FOLDER_ID } from '../e2e/console-double-files.ts'
import { startConsoleDouble } from '../e2e/console-double.ts'
import { signIn } from '../e2e/console-steps.ts'
import { aWorld } from '../e2e/console-world.ts'
import { type DragPartner, startDragPartner } from './drag-partner.ts'
import { openApp, openDesktop, type Desktop, type RunningApp } from './open-app.ts'

/** Files that cross the edge of a window, in real Electrons with the mouse of a screen: to another program and back. */
const run = promisify(execFile)
const stack = new AsyncDisposableStack()
const LARGE = Buffer.alloc(3 * 2 ** 20, 'berth')
let desktop: Desktop
let app: RunningApp
let partner: DragPartner
let files: DoubleFiles

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-test-drag-'))
  stack.defer(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'from the desktop.txt'), 'brought along')
  desktop = stack.use(await openDesktop())
  files = filesOf({ 'results/': '', 'large.bin': LARGE, 'small.csv': 'a,b' })
  const double = stack.use(await startConsoleDouble(aWorld({ signedIn: false })))
  Object.assign(double.world, { folders: [aFolder()], files })
  const window = { bounds: { x: 20, y: 40, width: 960, height: 760 }, isMaximized: false, zoomLevel: 0 }
  app = stack.use(await openApp(desktop, { env: { BERTH_ENDPOINT: double.url }, settings: { window } }))
  partner = stack.use(await startDragPartner(desktop, join(folder, 'from the desktop.txt'), { x: 1060, y: 200 }))
  await signIn(app.page, 'mira@example.com', 'Correct-horse-1')
  await app.page.getByRole('heading', { name: 'Summary', level: 1 }).waitFor()
  await app.page.evaluate(id => void (location.hash = `#/data/${id}`), FOLDER_ID)
  await row('small.csv').waitFor()
})
afterAll(() => stack.disposeAsync())

const row = (name: string) => app.page.getByRole('row').filter({ hasText: name })
const mouse = (...steps: (string | number)[]) =>
  run('xdotool', steps.map(String), { env: { ...process.env, ...desktop.env } })

/** Where the middle of something in the page is on the screen. */
async function placeOf(what: Locator): Promise<{ x: number; y: number }> {
  const box = (await what.boundingBox())!
  const { x, y } = await app.electron.evaluate(({ BrowserWindow }) =>
    BrowserWindow.getAllWindows()[0]!.getContentBounds(),
  )
  return { x: Math.round(x + box.x + Math.min(box.width, 300) / 2), y: Math.round(y + box.y + box.height / 2) }
}

interface Place {
  readonly x: number
  readonly y: number
}

/** A hand with a mouse: it pulls, and rests at the end until the other program has answered. */
async function drag(from: Place, to: Place): Promise<void> {
  await mouse('mousemove', from.x, from.y, 'mousedown', 1)
  // The system's drag begins when the file is there.
  for (let step = 1; step <= 4; step++) {
    await delay(100)
    await mouse('mousemove', from.x + 5 * step, from.y + step)
  }
  await delay(1_000)
  for (const part of [0.3, 0.6, 0.9, 0.97, 1]) {
    await mouse('mousemove', Math.round(from.x + part * (to.x - from.x)), Math.round(from.y + part * (to.y - from.y)))
    await delay(150)
  }
  await mouse('mouseup', 1)
}

test('a small file is dragged onto another program by one drag, with the content that the server has', async () => {
  await drag(await placeOf(row('small.csv')), partner)
  await expect.poll(() => partner.dropped.map(path => basename(path))).toEqual(['small.csv'])
  const [path = ''] = partner.dropped
  expect(await readFile(path, 'utf8')).toBe('a,b')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('the same drag within the page moves the file, and uploads nothing', async () => {
  await drag(await placeOf(row('small.csv')), await placeOf(row('results')))
  await expect.poll(() => [...files.keys()].toSorted()).toEqual(['large.bin', 'results/', 'results/small.csv'])
  expect(files.uploads?.size ?? 0).toBe(0)
})

test('a large file is fetched when a drag leaves the window, and goes with the next one', async () => {
  await drag(await placeOf(row('large.bin')), partner)
  await app.page.getByText('large.bin is fetched').waitFor()
  expect(partner.dropped.map(path => basename(path))).toEqual(['small.csv'])
  await drag(await placeOf(row('large.bin')), partner)
  await expect.poll(() => partner.dropped).toHaveLength(2)
  const path = partner.dropped[1] ?? ''
  expect(LARGE.equals(await readFile(path))).toBe(true)
})

test('a file of another program that is dropped on the list is uploaded', async () => {
  await drag(partner, await placeOf(row('large.bin')))
  await expect.poll(() => files.get('from the desktop.txt')?.content.toString()).toBe('brought along')
})

test('the copies are gone when the app has ended', async () => {
  const copies = () => readdir(join(app.configDir, 'dragged')).catch(() => [])
  expect(await copies()).not.toEqual([])
  await app.answer(1)
  await app.electron.evaluate(({ app: main }) => main.quit())
  await app.ended
  expect(await copies()).toEqual([])
})
