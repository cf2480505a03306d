/**
 * Makes the pictures of the user guide from a running Berth: `npx node test/e2e/screenshots.ts [FOLDER]`. Those at 1280×800, in the
 * theme that the guide shows, go into FOLDER (default docs/guide); those at 1920×1080 in both themes into test/output/guide-1920, to
 * be looked at.
 */
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Page } from 'playwright-core'
import { defined } from '#base/defined'
import { type ApiClient, type SessionId } from '#manager/contract'
import { root, startBerth } from '../fixtures/berth.ts'
import {
  inSchemes,
  launchBrowser,
  type Scheme,
  SCHEMES,
  settle,
  SIZES,
  visit,
  withoutGutter,
} from '../fixtures/browser.ts'
import {
  leaveDialog,
  openApp,
  openApps,
  openLaunchDialog,
  openSsh,
  openTerminal,
  proveLocal,
  rowOf,
  runInNotebook,
  screen,
  signIn,
  typeLine,
} from './console-steps.ts'

const IMAGE = 'berth/python:3.13'
const MAIN = 'wave-analysis'
const guide = resolve(process.argv[2] ?? join(root, 'docs/guide'))
const large = join(root, 'test/output/guide-1920')

/** Some work, so that the gauges and the log show something. It never ends, because the session would end with it. */
const WORK = `
import time, numpy
data = numpy.ones((9000, 10000))
step = 0
while True:
    begun = time.monotonic()
    step += 1
    print(f"step {step}  loss {9 / (step + 10):.4f}", flush=True)
    while time.monotonic() - begun < 0.3:
        data[:50] *= 1.0001
    time.sleep(0.7)
`

async function shoot(page: Page, name: string, shown: Scheme = 'light'): Promise<void> {
  await page.mouse.move(0, 0)
  for (const [size, folder, schemes] of [
    [SIZES.small, guide, [shown]],
    [SIZES.large, large, SCHEMES],
  ] as const) {
    await page.setViewportSize(size)
    await withoutGutter(page)
    await inSchemes(page, schemes, async scheme => {
      await settle(page)
      await page.screenshot({ path: join(folder, `${name}-${scheme}.png`), animations: 'disabled' })
    })
  }
  await page.setViewportSize(SIZES.small)
  console.log(name)
}

async function launch(api: ApiClient, name: string, cpu: string, memory: string, command?: string): Promise<SessionId> {
  const resources = { cpu, mem: memory }
  const startup = defined({ startupCommand: command })
  const { items } = await api.createSession({ body: { name, image: IMAGE, resources, ...startup } })
  const [session] = items
  if (!session) throw new Error('no session')
  return session.id
}

/** The last known state of a session, for the message of a failure. */
let seen = ''

async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited for too long; ${seen}`)
    await new Promise(done => setTimeout(done, 200))
  }
}

for (const folder of [guide, large]) await mkdir(folder, { recursive: true })
await using berth = await startBerth()
const browser = await launchBrowser()
try {
  await using visitor = await visit(browser, berth.url)
  const page = await visitor.openTab('/sign-in?next=/sessions')

  const api = await berth.api()
  const is = async (id: SessionId, status: string) => {
    const session = await api.getSession({ params: { id } })
    if (status === 'RUNNING' && session.endedAt !== null) throw new Error(session.reason.message)
    seen = `${session.name}: ${session.status} ${session.reason.message}`
    return session.status === status
  }
  const ended = await launch(api, 'first-try', '0.5', '512m')
  await until(() => is(ended, 'RUNNING'))
  await api.deleteSession({ params: { id: ended } })
  await until(() => is(ended, 'TERMINATED'))
  const ids = [
    await launch(api, 'clean-up_data.v2', '0.5', '1g', `exec python3 -c '${WORK}'`),
    await launch(api, MAIN, '0.5', '2g', `exec python3 -c '${WORK}'`),
  ]
  for (const id of ids) await until(() => is(id, 'RUNNING'))
  await launch(api, 'large-model', '1.5', '4g')

  await signIn(page, berth.adminEmail, berth.adminPassword)
  await rowOf(page, MAIN).waitFor()
  await proveLocal(page, berth.data)
  await until(async () =>
    /iB/.test((await rowOf(page, MAIN).getByRole('meter', { name: 'RAM' }).getAttribute('aria-valuetext')) ?? ''),
  )

  // Shows only the images of a new installation, because this machine may have images of tests.
  await page.route('**/api/v1/images', async route => {
    const reply = await route.fetch()
    const { items } = (await reply.json()) as { items: { reference: string }[] }
    const kept = items.filter(({ reference }) => [IMAGE, 'debian:trixie-slim'].includes(reference))
    await route.fulfill({ response: reply, json: { items: kept } })
  })
  await page.reload()
  await rowOf(page, MAIN).waitFor()
  await openLaunchDialog(page)
  await page.getByLabel('Name optional').fill('plot-results')
  const form = page.locator('.launch-form')
  await form.evaluate(element => element.scrollTo(0, 0))
  await page.getByText('Starts now.').waitFor()
  await shoot(page, 'launch')
  await leaveDialog(page, 'New session')

  await openApps(page, MAIN)
  const lab = await openApp(page, /JupyterLab/)
  await runInNotebook(lab, 'import numpy as np\nnp.linspace(0, 1, 5) ** 2')
  await lab.setViewportSize(SIZES.small)
  await lab.screenshot({ path: join(guide, 'jupyterlab.png') })
  await lab.close()
  await leaveDialog(page, /^Apps of/)

  await openSsh(page, MAIN)
  // The SSH files of this Berth are in a directory of its own; those of a person are in ~/.ssh.
  await page.evaluate(
    directory => {
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
      for (let text = texts.nextNode(); text; text = texts.nextNode())
        text.nodeValue = text.nodeValue?.replaceAll(directory, '~/.ssh') ?? null
    },
    join(berth.data, 'ssh'),
  )
  await shoot(page, 'ssh')
  await leaveDialog(page, /^SSH and SFTP/)
  await leaveDialog(page, /^Apps of/)

  const terminal = await openTerminal(page, MAIN)
  await typeLine(terminal, 'clear; python3 --version; git --version; ls -l; df -h /dev/shm')
  await screen(terminal).filter({ hasText: '/dev/shm' }).waitFor()
  await shoot(terminal, 'terminal', 'dark')
  await terminal.close()

  await page.getByRole('link', { name: MAIN, exact: true }).click()
  await page.locator('ol.timeline').getByText('Running').first().waitFor()
  await shoot(page, 'timeline')

  await page.goto(`${berth.url}/#/sessions/${ended}?list=finished`)
  await page.getByRole('button', { name: 'Start again' }).waitFor()
  await shoot(page, 'again')

  // Taken last, when the listed sessions have run for a while.
  await page.goto(`${berth.url}/#/sessions`)
  await rowOf(page, MAIN).getByRole('meter', { name: 'RAM' }).waitFor()
  await shoot(page, 'sessions')
  if (visitor.problems.length > 0) throw new Error(visitor.problems.join('\n'))
} finally {
  await browser.close()
}
