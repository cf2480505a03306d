import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Locator } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aFolder, type DoubleFiles, filesOf, FOLDER_ID } from '../e2e/console-double-files.ts'
import { type ConsoleDouble, startConsoleDouble } from '../e2e/console-double.ts'
import { signIn } from '../e2e/console-steps.ts'
import { aWorld } from '../e2e/console-world.ts'
import { type DragPartner, startDragPartner } from './drag-partner.ts'
import { openApp, openDesktop, type Desktop, type RunningApp } from './open-app.ts'

/**
 * Files dragged across the edge of a window, in real Electrons: uploads, and drags to another program and back with the mouse of a screen.
 */
const run = promisify(execFile)
const stack = new AsyncDisposableStack()
const LARGE = Buffer.alloc(3 * 2 ** 20, 'berth')
let desktop: Desktop
let double: ConsoleDouble
let app: RunningApp
let partner: DragPartner
let files: DoubleFiles

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-test-drag-'))
  stack.defer(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'from the desktop.txt'), 'brought along')
  desktop = stack.use(await openDesktop())
  double = stack.use(await startConsoleDouble(aWorld({ signedIn: false })))
  double.world.folders = [aFolder()]
  const window = { bounds: { x: 20, y: 40, width: 960, height: 760 }, isMaximized: false, zoomLevel: 0 }
  app = stack.use(await openApp(desktop, { env: { BERTH_ENDPOINT: double.url }, settings: { window } }))
  partner = stack.use(await startDragPartner(desktop, join(folder, 'from the desktop.txt'), { x: 1060, y: 200 }))
  // This screen has no credential store. Its warning blocks the mouse of the console, like questions, until it is read.
  await app.answer(0)
  await signIn(app.page, 'mira@example.com', 'Correct-horse-1')
  await app.page.getByRole('heading', { name: 'Summary', level: 1 }).waitFor()
})
afterAll(() => stack.disposeAsync())

/** Opens the folder again, with these files; this many uploads freeze. */
async function openFolder(entries: Parameters<typeof filesOf>[0], frozen = 0): Promise<void> {
  await app.page.evaluate(() => void (location.hash = '#/sessions'))
  await app.page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
  files = Object.assign(filesOf(entries), { frozen })
  double.world.files = files
  await app.page.evaluate(id => void (location.hash = `#/data/${id}`), FOLDER_ID)
}

const row = (name: string) => app.page.getByRole('row').filter({ hasText: name })
const mouse = (...steps: (string | number)[]) =>
  run('xdotool', steps.map(String), { env: { ...process.env, ...desktop.env } })

/** Screen position of the middle of an element on the page. */
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

/** Number of drag-over events in the page. */
const dragsOver = () => app.page.evaluate(() => (globalThis as { dragsOver?: number }).dragsOver ?? 0)

/** Drags with the mouse like a hand, and pauses at the end until the other program has answered. */
async function drag(from: Place, to: Place): Promise<void> {
  const before = await dragsOver()
  await mouse('mousemove', from.x, from.y, 'mousedown', 1)
  for (let step = 1; step <= 4; step++) {
    await delay(100)
    await mouse('mousemove', from.x + 5 * step, from.y + step)
  }
  // The system's drag begins when the file exists. The other program does not report when its own drag begins.
  if (from === partner) await delay(500)
  else await expect.poll(dragsOver).toBeGreaterThan(before)
  for (const part of [0.3, 0.6, 0.9, 0.97, 1]) {
    await mouse('mousemove', Math.round(from.x + part * (to.x - from.x)), Math.round(from.y + part * (to.y - from.y)))
    await delay(150)
  }
  await mouse('mouseup', 1)
}

describe('a drag', () => {
  beforeAll(async () => {
    await openFolder({ 'results/': '', 'large.bin': LARGE, 'small.csv': 'a,b' })
    await row('small.csv').waitFor()
    await app.page.evaluate(() => {
      const counted: { dragsOver: number } = Object.assign(globalThis, { dragsOver: 0 })
      addEventListener('dragover', () => counted.dragsOver++, { capture: true })
    })
  })

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
})

test('an upload goes on after the computer has slept, although its connection is dead and the clock is another one', async () => {
  await openFolder({ 'old.txt': 'x' }, 1)
  await app.page.getByText('1 entry').waitFor()
  const content = Buffer.alloc(5 * 2 ** 20, 'berth')
  await app.page
    .locator('input[data-upload="files"]')
    .setInputFiles([{ name: 'large.bin', mimeType: 'application/octet-stream', buffer: content }])
  await expect.poll(() => files.frozen).toBe(0)
  const streams = double.streams()
  // Simulates a night: timers stand still, the clocks continue.
  const skip = () => {
    const now = Date.now
    Date.now = () => now.call(Date) + 8 * 3_600_000
  }
  await app.electron.evaluate(({ powerMonitor }) => powerMonitor.emit('suspend'))
  await app.page.evaluate(skip)
  await app.electron.evaluate(skip)
  await app.electron.evaluate(({ powerMonitor }) => powerMonitor.emit('resume'))
  await expect.poll(() => files.get('large.bin')?.content.equals(content), { timeout: 60_000 }).toBe(true)
  await app.page
    .getByRole('region', { name: 'Uploads' })
    .getByRole('heading', { name: /files? uploaded/ })
    .waitFor()
  await expect.poll(() => double.streams()).toBe(streams)
})

test('an upload is not cut without a question, whether its window closes or the app quits, and goes on without its window', async () => {
  await openFolder({}, 1)
  await app.page.getByText('Drop files').first().click()
  const buffer = Buffer.alloc(2 * 2 ** 20, 'berth')
  await app.page
    .locator('input[data-upload="files"]')
    .setInputFiles([{ name: 'slow.bin', mimeType: 'application/octet-stream', buffer }])
  await expect.poll(() => files.frozen).toBe(0)
  // A credential store that answers late also asks.
  const asked = async () => (await app.questions()).filter(({ detail }) => detail?.includes('Uploads'))
  await app.answer(0)
  const close = () => app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close())
  await close()
  await expect.poll(asked).toHaveLength(1)
  expect(await asked()).toEqual([
    expect.objectContaining({ buttons: ['Stay', 'Leave'], detail: expect.stringContaining('Uploads') as string }),
  ])
  await app.answer(2)
  await app.electron.evaluate(({ app: main }) => main.quit())
  await expect.poll(asked).toHaveLength(2)
  expect((await asked())[1]).toMatchObject({
    detail: expect.stringMatching(/^Uploads, which are at \d+ %, will stop\./) as string,
    buttons: ['Keep running in the background', 'Stop and quit', 'Cancel'],
  })
  expect(app.page.isClosed()).toBe(false)

  await app.electron.evaluate(({ BrowserWindow }) => {
    const kept = Object.assign(globalThis, { progress: [] as number[] })
    BrowserWindow.prototype.setProgressBar = fraction => void kept.progress.push(fraction)
  })
  const progress = () => app.electron.evaluate(() => (globalThis as never as { progress: number[] }).progress.at(-1))
  const isVisible = () => app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isVisible())
  await app.answer(0)
  await app.electron.evaluate(({ app: main }) => main.quit())
  await expect.poll(isVisible).toBe(false)
  await app.electron.evaluate(({ powerMonitor }) => powerMonitor.emit('resume'))
  await expect.poll(() => files.get('slow.bin')?.content.equals(buffer), { timeout: 60_000 }).toBe(true)
  // A hidden page draws nothing, but still reports that it has no more uploads.
  await expect.poll(progress).toBe(-1)
  await app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.show())
  await app.page.getByRole('heading', { name: /files? uploaded/ }).waitFor()
})

test('the copies are gone when the app has ended', async () => {
  const copies = () => readdir(join(app.configDir, 'dragged')).catch(() => [])
  expect(await copies()).not.toEqual([])
  await app.answer(1)
  await app.electron.evaluate(({ app: main }) => main.quit())
  await app.ended
  expect(await copies()).toEqual([])
})
