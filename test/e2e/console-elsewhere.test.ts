import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HostInfo } from '#proxy/contract'
import { openConsole, startBrowser } from './console-open.ts'
import { aSession } from './console-world.ts'

/** A browser on another computer than Berth: everything that is offered opens, and impossible actions are not offered. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const SESSION = aSession(1, {
  name: 'long-training',
  status: 'RUNNING',
  apps: [
    { name: 'jupyterlab', title: 'JupyterLab', protocol: 'http', path: '/lab' },
    { name: 'vnc', title: 'Desktop', protocol: 'tcp', path: '/' },
  ],
})
const OPEN = `POST /api/v1/sessions/${SESSION.id}/apps/jupyterlab/open`
const ADDRESS = 'https://berth.example.org:20007'

const answers = (info: Partial<HostInfo>) => ({
  'POST /host/host/info': {
    status: 200,
    value: { ok: true, value: { kind: 'remote', version: '1', platform: 'linux', ...info } },
  },
  [OPEN]: { status: 201, value: { url: `${ADDRESS}/_berth/open?ticket=once`, origin: ADDRESS } },
})
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })

/** Texts of the apps that the dialog offers. */
async function offered(page: Page): Promise<readonly string[]> {
  const dialog = page.getByRole('dialog')
  await dialog.getByText('SSH, SFTP and ports for programs').waitFor()
  const tiles = await dialog.locator('.tile-title').allTextContents()
  const ports = dialog.getByRole('tab', { name: 'Ports and links' })
  if ((await ports.count()) > 0) await ports.click()
  const others = ['Open another port', 'For a program', 'Try preferred port', 'Open on this computer']
  const found = others.map(async text => ((await dialog.getByText(text, { exact: true }).count()) > 0 ? text : []))
  return [...tiles, ...(await Promise.all(found)).flat()]
}

test('with an address of apps, JupyterLab opens there; SSH and ports for programs name other ways', async () => {
  await using it = await openConsole(browser, '/sessions', {
    sessions: [SESSION],
    replies: answers({ opensApps: true }),
  })
  const { page } = it
  await page.context().route(`${ADDRESS}/**`, route => route.fulfill({ contentType: 'text/html', body: 'a notebook' }))
  const [tab] = await Promise.all([
    page.context().waitForEvent('page'),
    button(page, 'Open JupyterLab of long-training').click(),
  ])
  await tab.getByText('a notebook').waitFor()
  expect(tab.url()).toBe(`${ADDRESS}/_berth/open?ticket=once`)
  expect(await tab.evaluate(() => window.opener as unknown)).toBeNull()
  await button(page, 'Apps of long-training').click()
  expect(await offered(page)).toEqual(['JupyterLab', 'Terminal', 'Open another port'])
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('tab', { name: 'Apps' }).click()
  expect(await dialog.getByRole('link', { name: 'Open in the desktop app' }).getAttribute('href')).toBe(
    `berth://open/sessions/${SESSION.id}`,
  )
  await dialog.getByText('berth ssh long-training').waitFor()
  await dialog.getByRole('tab', { name: 'Ports and links' }).click()
  await dialog.getByRole('textbox', { name: 'Port in the session' }).fill('7860')
  await button(page, 'Open port').click()
  await expect
    .poll(() => it.world.changes.map(({ request }) => request))
    .toContain(OPEN.replace('jupyterlab', 'http-7860'))
  const ssh = await it.newTab(`/sessions?dialog=ssh&of=${SESSION.id}`)
  await ssh.getByText('berth sftp long-training').waitFor()
})

test('folders by SFTP and the list of tunnels name other ways too', async () => {
  await using it = await openConsole(browser, '/tunnels', {
    sessions: [SESSION],
    replies: answers({ opensApps: true }),
  })
  await it.page.getByText('Tunnels are not on this computer').waitFor()
  const folders = await it.newTab('/data')
  await folders.getByRole('button', { name: /SFTP/ }).first().click()
  await folders.getByText('berth folder sftp --serve').waitFor()
  await folders.getByRole('link', { name: 'Open in the desktop app' }).waitFor()
})

test('without an address of apps there is no JupyterLab button; the dialog says who can set one', async () => {
  await using it = await openConsole(browser, '/sessions', {
    sessions: [SESSION],
    replies: answers({ opensApps: false }),
  })
  const { page } = it
  await button(page, 'Apps of long-training').click()
  expect(await offered(page)).toEqual(['Terminal'])
  await page.getByText('an administrator can set one').waitFor()
  await page.getByText('berth app long-training jupyterlab').waitFor()
  await page.keyboard.press('Escape')
  expect(await button(page, 'Open JupyterLab of long-training').count()).toBe(0)
})

test('the ways fit on a phone, in Korean', async () => {
  const world = { sessions: [SESSION], replies: answers({ opensApps: false }) }
  await using it = await openConsole(browser, '/sessions', world, { width: 390, height: 844 })
  const { page } = it
  await page.evaluate(() => localStorage.setItem('berth.language', 'ko'))
  await it.openAnew(`/sessions?dialog=apps&of=${SESSION.id}`)
  await page.getByText('데스크톱 앱에서 열기').waitFor()
  await page.getByText('둘 다 없습니다').click()
  const wide = await page.evaluate(() => document.documentElement.scrollWidth)
  expect(wide).toBeLessThanOrEqual(390)
  if (process.env.BERTH_SCREENSHOTS)
    await page.screenshot({ path: `${process.env.BERTH_SCREENSHOTS}/elsewhere-ko.png` })
})

test('another port is opened by the protocol that its server speaks', async () => {
  const url = `${ADDRESS}/_berth/open?ticket=tls`
  await using it = await openConsole(browser, '/sessions', {
    sessions: [SESSION],
    replies: {
      ...answers({ opensApps: true }),
      [OPEN.replace('jupyterlab', 'https-8443')]: { status: 201, value: { url, origin: ADDRESS } },
    },
  })
  const { page } = it
  await page.context().route(`${ADDRESS}/**`, route => route.fulfill({ contentType: 'text/html', body: 'a dashboard' }))
  await button(page, 'Apps of long-training').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('tab', { name: 'Ports and links' }).click()
  await dialog.getByLabel('Port in the session').fill('8443')
  await dialog.getByLabel('The server speaks https').check()
  const [tab] = await Promise.all([
    page.context().waitForEvent('page'),
    dialog.getByRole('button', { name: 'Open port' }).click(),
  ])
  await tab.getByText('a dashboard').waitFor()
  expect(tab.url()).toBe(url)
})
