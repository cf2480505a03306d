import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, existsSync, statSync, watch } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Page } from 'playwright-core'
import { expect, vi } from 'vitest'
import { type Berth } from '../fixtures/berth.ts'
import { button } from './console-steps.ts'

/** Number of connections that are cut, and after which of them the page is reloaded. */
const CUTS = 5
const RELOAD_AFTER = 3
const MIB = 2 ** 20

export interface CutUpload {
  readonly berth: Berth
  /** Shows the folder, which has no file of that name. */
  readonly page: Page
  /** The folder on the disk. */
  readonly directory: string
  /** Path on this computer, from `writeSource`. */
  readonly source: string
  readonly sha256: string
  readonly timeoutMs: number
}

/** Writes a file of random bytes, which nothing on the way can compress. @returns their SHA-256 */
export async function writeSource(path: string, mib: number): Promise<string> {
  const hash = createHash('sha256')
  await using file = await open(path, 'w')
  for (let n = 0; n < mib; n += 16) {
    const bytes = randomBytes(Math.min(16, mib - n) * MIB)
    hash.update(bytes)
    await file.writeFile(bytes)
  }
  return hash.digest('hex')
}

/**
 * Uploads a file with the page while the console is killed five times, spread over the bytes, and the page is reloaded once in the middle.
 * Expects that the file has the right hash at the end, that it never existed with fewer bytes, and that no temporary files are left.
 */
export async function uploadThroughCuts(it: CutUpload): Promise<void> {
  const { berth, page, directory, source, timeoutMs } = it
  const { size } = await stat(source)
  const name = basename(source)
  const panel = page.getByRole('region', { name: 'Uploads' })
  const soon = { timeout: 120_000 }
  const target = watchTarget(directory, name)
  const kept = join(berth.data, 'storage/uploads')
  const received = async () => {
    const sizes = (await readdir(kept, { recursive: true })).map(path =>
      stat(join(kept, path)).then(
        found => (found.isFile() ? found.size : 0),
        () => 0,
      ),
    )
    return Math.max(0, ...(await Promise.all(sizes)))
  }

  const { offsets, losses } = await listenTo(page)
  let known = 0
  const nextRequest = () => expect.poll(() => offsets.length, soon).toBeGreaterThan(known)
  await page.locator('input[data-upload="files"]').setInputFiles(source)
  for (let cut = 1; cut <= CUTS; cut++) {
    await nextRequest()
    // Looked up in advance: while a process is searched for, the last bytes may arrive.
    const { console: victim } = await berth.servers()
    // Some bytes of the request have arrived, so it is refused if Chromium itself sends it again.
    const enough = () => Math.max(offsets.at(-1) ?? 0, (size * cut) / (CUTS + 2))
    await vi.waitFor(async () => expect(await received()).toBeGreaterThan(enough()), {
      timeout: timeoutMs,
      interval: 10,
    })
    const before = losses()
    known = offsets.length
    process.kill(victim, 'SIGKILL')
    await expect.poll(losses, soon).toBeGreaterThan(before)
    expect(await readdir(directory)).not.toContain(name)
    if (cut !== RELOAD_AFTER) continue
    await nextRequest()
    known = offsets.length
    await continueAfterReload(page, source)
  }
  await panel.getByRole('heading', { name: '1 file uploaded' }).waitFor({ timeout: timeoutMs })
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(join(directory, name))) hash.update(chunk as Buffer)
  expect(hash.digest('hex')).toBe(it.sha256)
  expect(await readdir(kept)).toEqual([])
  expect(new Set(target.sizes())).toEqual(new Set([size]))
}

/** Records from now on the requests and messages of the page, so that short ones are not missed. */
async function listenTo(page: Page) {
  const offsets: number[] = []
  let losses = 0
  page.on('request', request => {
    const isPart = request.method() === 'PATCH' && request.url().includes('/uploads/')
    if (isPart) offsets.push(Number(request.headers()['upload-offset']))
  })
  await page.exposeFunction('onLoss', () => void losses++)
  await page.addInitScript(reportLosses)
  await page.evaluate(reportLosses)
  return {
    /** Positions in the file at which requests with bytes begin. */
    offsets,
    /** Number of times that the page has begun to show a lost connection. */
    losses: () => losses,
  }
}

/** Runs in the page. */
function reportLosses(): void {
  const { onLoss } = globalThis as unknown as { onLoss(): void }
  let isLost = false
  new MutationObserver(() => {
    const rows = [...document.querySelectorAll('[aria-label="Uploads"] .transfer-text')]
    const wasLost = isLost
    isLost = rows.some(row => row.checkVisibility() && row.textContent.startsWith('No connection.'))
    if (isLost && !wasLost) onLoss()
  }).observe(document, { subtree: true, childList: true, characterData: true })
}

async function continueAfterReload(page: Page, source: string): Promise<void> {
  const soon = { timeout: 120_000 }
  // The browser asks whether the upload may be left.
  page.once('dialog', dialog => void dialog.accept())
  await page.reload()
  await page.getByText('1 upload into this folder is not finished.').waitFor(soon)
  await button(page, 'Continue…').click()
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button(page, 'Choose the file…').click()])
  await chooser.setFiles(source)
}

/** Every size with which a file of this name was seen: at each change of the directory or of the file. */
function watchTarget(directory: string, name: string) {
  const seen: number[] = []
  const look = () => {
    const path = join(directory, name)
    if (existsSync(path)) seen.push(statSync(path).size)
  }
  const watcher = watch(directory, (_event, changed) => {
    if (changed === name) look()
  })
  return {
    sizes() {
      watcher.close()
      look()
      return seen
    },
  }
}
