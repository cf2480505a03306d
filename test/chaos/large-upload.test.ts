import { join } from 'node:path'
import { test } from 'vitest'
import { signIn } from '../e2e/console-steps.ts'
import { uploadThroughCuts, writeSource } from '../e2e/cut-upload.ts'
import { startBerth } from '../fixtures/berth.ts'
import { launchBrowser, visit } from '../fixtures/browser.ts'

/** The same test as in `files-journey.test.ts`, where the file is smaller. It needs twice the space on the disk, and the page that `npm run build` makes. */
const MIB = 2048

test('2 GiB arrive whole through five cut connections and a reload of the page', async () => {
  await using berth = await startBerth()
  await using browser = await launchBrowser()
  const { id } = await (await berth.api()).createFolder({ body: { name: 'results' } })
  await using visitor = await visit(browser, berth.url)
  const page = await visitor.openTab(`/data/${id}`)
  await signIn(page, berth.adminEmail, berth.adminPassword)
  await page.getByText('This directory is empty').waitFor()
  const source = join(berth.data, 'large.bin')
  const sha256 = await writeSource(source, MIB)
  const directory = join(berth.data, 'storage/folders', id)
  await uploadThroughCuts({ berth, page, directory, source, sha256, timeoutMs: 300_000 })
}, 900_000)
