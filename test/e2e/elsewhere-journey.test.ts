import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Berth, startBerth } from '../fixtures/berth.ts'
import { visit, type Visitor } from '../fixtures/browser.ts'
import { freePorts } from '../fixtures/free-port.ts'
import { openOtherComputer } from '../fixtures/other-computer.ts'
import { button, openLaunchDialog, rowOf, runInNotebook, signIn } from './console-steps.ts'

/**
 * The main use of Berth from a browser on another computer: https at an address of the network, and web apps at ports of the same name. The
 * browser runs in its own network namespace, so that it cannot use this computer's loopback.
 */
const NAME = 'berth.example.test'
const SESSION = 'far-away'
/** A page that talks to its server by a WebSocket, which checks Origin, as Streamlit and Gradio do. Python of the notebook has Tornado. */
const SERVER = `
import tornado.web, tornado.websocket
class Echo(tornado.websocket.WebSocketHandler):
    def on_message(self, text): self.write_message("echo " + text)
class Page(tornado.web.RequestHandler):
    def get(self): self.write("""<body>waiting<script>
      const socket = new WebSocket(location.origin.replace("http", "ws") + "/_stcore/stream")
      socket.onopen = () => socket.send("hello")
      socket.onmessage = ({ data }) => { document.body.textContent = data }
    </script>""")
tornado.web.Application([("/", Page), ("/_stcore/stream", Echo)]).listen(8501, "127.0.0.1")
`

const stack = new AsyncDisposableStack()
let berth: Berth
let person: Visitor
let page: Page
let range: string
beforeAll(async () => {
  const first = await freePorts(6)
  range = `${first}-${first + 5}`
  const data = await mkdtemp(join(tmpdir(), 'berth-test-away-data-'))
  stack.defer(() => rm(data, { recursive: true, force: true }))
  const computer = stack.use(await openOtherComputer())
  const settings = [
    '[console]',
    `host = "${computer.address}"`,
    `allowedHosts = ["${NAME}"]`,
    `appsAddress = "https://${NAME}:${range}"`,
  ]
  await writeFile(join(data, 'berth.toml'), `${settings.join('\n')}\n`)
  berth = stack.use(await startBerth({ data }))
  person = await visit(await computer.openBrowser(NAME), berth.url)
})
afterAll(() => stack.disposeAsync())

/** The tab that an action on the page opens, once it shows the app. */
async function tabOf(act: Promise<void>): Promise<Page> {
  const [tab] = await Promise.all([person.context.waitForEvent('page'), act])
  await tab.waitForURL(url => url.hostname === NAME && url.port !== new URL(berth.url).port, { timeout: 90_000 })
  return tab
}

test('a browser on another computer launches a session, computes in JupyterLab, and uses a server of its own', async () => {
  expect(berth.url).toMatch(`https://${NAME}:`)
  page = await person.openTab('/sessions')
  await signIn(page, berth.adminEmail, berth.adminPassword)
  await openLaunchDialog(page)
  await page.getByText('Python 3.13 with JupyterLab').first().click()
  await page.getByRole('textbox', { name: 'RAM', exact: true }).fill('1 GiB')
  await page.getByLabel('Name optional').fill(SESSION)
  await button(page, /^Launch$/).click()
  await rowOf(page, SESSION).getByText('Running', { exact: true }).waitFor({ timeout: 120_000 })

  // Without it, each app first asks whether its own user is coming.
  const status = await page.evaluate(async () => {
    const headers = {
      'content-type': 'application/json',
      'x-berth-origin-secret': localStorage.getItem('berth.origin-secret') ?? '',
    }
    const body = JSON.stringify({ publicUrl: location.origin })
    return (await fetch('/api/v1/settings', { method: 'PATCH', headers, body })).status
  })
  expect(status).toBe(200)
  const lab = await tabOf(button(page, `Open JupyterLab of ${SESSION}`).click())
  expect(lab.url()).not.toMatch(/ticket|token/i)
  const code = Buffer.from(SERVER).toString('base64')
  expect(await runInNotebook(lab, `exec(__import__('base64').b64decode('${code}').decode()) or 40+2`)).toBe('42')
  // JupyterLab stores its state by PUT and runs its cells over a WebSocket, both behind the gate.
  expect(await lab.evaluate(() => document.cookie)).not.toContain('berth_')

  await button(page, `Apps of ${SESSION}`).click()
  await page.getByText('SSH, SFTP and ports for programs').waitFor()
  await page.getByRole('textbox', { name: 'Port in the session' }).fill('8501')
  const own = await tabOf(button(page, 'Open port').click())
  await own.getByText('echo hello').waitFor()
  expect(new URL(own.url()).origin).not.toBe(new URL(lab.url()).origin)
  // A page of one app cannot read another app, and the console's cookie gives no access to the API.
  const read = await own.evaluate(
    async urls =>
      await Promise.all(
        urls.map(url =>
          fetch(url, { credentials: 'include' }).then(
            ({ status }) => String(status),
            () => 'refused',
          ),
        ),
      ),
    [new URL('/api/contents', lab.url()).href, `${berth.url}/api/v1/me`],
  )
  expect(read).toEqual(['refused', 'refused'])
  await page.keyboard.press('Escape')
})

test('on a phone in Korean the same buttons open the same apps', async () => {
  await page.setViewportSize({ width: 390, height: 844 })
  await page.evaluate(() => localStorage.setItem('berth.language', 'ko'))
  await page.reload()
  const lab = await tabOf(
    page
      .getByRole('button', { name: /JupyterLab/ })
      .first()
      .click(),
  )
  await lab.locator('.jp-Notebook, .jp-Launcher').first().waitFor({ timeout: 120_000 })
  await lab.close()
  await page
    .getByRole('button', { name: new RegExp(`${SESSION}.*앱`) })
    .first()
    .click()
  await page.getByText('데스크톱 앱에서 열기').waitFor()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  if (process.env.BERTH_SCREENSHOTS) await page.screenshot({ path: join(process.env.BERTH_SCREENSHOTS, 'away-ko.png') })
  await page.keyboard.press('Escape')
})

test('signing out ends the apps at once', async () => {
  const [lab] = person.context.pages().filter(tab => new URL(tab.url()).pathname.startsWith('/lab'))
  if (!lab) throw new Error('the notebook is open')
  await page.evaluate(async () => {
    const headers = { 'x-berth-origin-secret': localStorage.getItem('berth.origin-secret') ?? '' }
    await fetch('/api/v1/auth/logout', { method: 'POST', headers })
  })
  await expect
    .poll(async () => {
      await lab.reload()
      return await lab.getByRole('heading').first().innerText()
    })
    .toBe('Open this app from the console')
})
