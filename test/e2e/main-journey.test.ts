import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { casesOf } from '../../build/bootstrap/test-sets.ts'
import { type Berth, startBerth } from '../fixtures/berth.ts'
import { audit, launchBrowser, visit, type Visitor } from '../fixtures/browser.ts'
import { freePort } from '../fixtures/free-port.ts'
import { sha256 } from '../fixtures/sha256.ts'
import { expectAllAdministration } from './administration.ts'
import { type ChartsImage, makeChartsImage } from './charts-image.ts'
import {
  atPrompt,
  button,
  leaveDialog,
  openApp,
  openApps,
  showPorts,
  openLaunchDialog,
  openSection,
  openSsh,
  openTerminal,
  proveLocal,
  rowOf,
  runInNotebook,
  screen,
  signIn,
  signInLink,
  sshFact,
  typeLine,
} from './console-steps.ts'
import { type FileClients, openFileClients } from './file-clients.ts'

/**
 * The main use of Berth, step by step: a real Chromium, the whole of Berth as `berth up` starts it, a real container. The
 * tests of this file build on each other and run in their order.
 */
const SESSION = 'first-steps'
const SIZE = 100 * 2 ** 20
/** Time limit for steps of a second or two, on a busy machine. */
const SOON = { timeout: 120_000 }

let berth: Berth
let browser: Browser
let directory: string
let admin: Visitor
let page: Page
let charts: ChartsImage | undefined
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-e2e-'))
  const port = await freePort()
  berth = await startBerth({ environment: { BERTH_APPS_ADDRESS: `http://public.localhost:${port}-${port}` } })
  await (await berth.api()).updateSettings({ body: { publishApps: true } })
  browser = await launchBrowser()
  admin = await visit(browser, berth.url)
})
afterAll(async () => {
  await browser.close()
  await berth[Symbol.asyncDispose]()
  await charts?.[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})
afterEach(() => {
  expect(admin.problems.splice(0)).toEqual([])
})

describe('signing in', () => {
  test('a visitor who is not signed in gets the sign-in page, and then the wanted page', async () => {
    page = await admin.openTab('/sessions?list=finished')
    await page.getByRole('heading', { name: 'Sign in to Berth' }).waitFor()
    expect(await audit(page)).toEqual([])
  })

  test('a wrong password is refused in words, the right one accepted', async () => {
    await signIn(page, berth.adminEmail, 'Not-the-password-1')
    await page.getByRole('alert').filter({ hasText: 'Wrong e-mail address or password' }).waitFor()
    await signIn(page, berth.adminEmail, berth.adminPassword)
    await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
    expect(page.url()).toContain('list=finished')
  })

  test('a link signs in once, leaves no trace, and reports its second use', async () => {
    const link = await signInLink(berth.data)
    await using guest = await visit(browser, berth.url)
    const tab = await guest.context.newPage()
    await tab.goto(link)
    await tab.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
    expect(tab.url()).not.toContain('ticket')
    await using late = await visit(browser, berth.url)
    const refused = await late.context.newPage()
    await refused.goto(link)
    await refused.getByRole('alert').filter({ hasText: 'unknown, used or expired' }).waitFor()
    expect([...guest.problems, ...late.problems]).toEqual([])
  })
})

/** Whether the console considers this page local, which decides whether the page may open ports here. */
const placeOf = (tab: Page) =>
  tab.evaluate(async () => {
    const headers = {
      'content-type': 'application/json',
      'x-berth-origin-secret': localStorage.getItem('berth.origin-secret') ?? '',
      'x-berth-local': localStorage.getItem('berth.local-proof') ?? '',
    }
    const reply = await fetch('/host/host/info', { method: 'POST', headers, body: '[]' })
    const { value } = (await reply.json()) as { value: { kind: string; isUnproven?: boolean } }
    return value.isUnproven ? 'unproven' : value.kind
  })

test('every page of administration shows what a fresh Berth has', async () => {
  const tab = await admin.openTab('/admin/overview')
  await expectAllAdministration(tab)
  await tab.close()
})

describe('proof of this computer', () => {
  test('the link of `berth up` proves it: also after a reload and in a second tab, and for this browser only', async () => {
    await using guest = await visit(browser, berth.url)
    const tab = await guest.context.newPage()
    await tab.goto(await signInLink(berth.data))
    await tab.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
    await expect.poll(() => tab.url()).not.toContain('local=')
    expect(await placeOf(tab)).toBe('local')
    await tab.reload()
    await tab.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
    expect(await placeOf(tab)).toBe('local')
    const second = await guest.openTab('/preferences')
    await second.getByLabel('Try a preferred port first').waitFor()
    expect(await placeOf(second)).toBe('local')

    await using other = await visit(browser, berth.url)
    const far = await other.openTab('/preferences')
    await signIn(far, berth.adminEmail, berth.adminPassword)
    await far.getByText('Prove it, or use the desktop app').waitFor()
    expect(await placeOf(far)).toBe('unproven')
    // The local proof of one sign-in does not work with another.
    const proof = await tab.evaluate(() => localStorage.getItem('berth.local-proof') ?? '')
    await far.evaluate(stolen => localStorage.setItem('berth.local-proof', stolen), proof)
    expect(await placeOf(far)).toBe('unproven')
    expect([...guest.problems, ...other.problems]).toEqual([])
  })

  test('the second link proves it in a browser that signed in with a password', async () => {
    expect(await placeOf(page)).toBe('unproven')
    await proveLocal(page, berth.data)
    expect(await placeOf(page)).toBe('local')
    await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
  })
})

describe('launching', () => {
  test('an empty list explains what a session is', async () => {
    await page.getByRole('tab', { name: /All active/ }).click()
    await page.getByText('No sessions are running').waitFor()
    expect(await audit(page)).toEqual([])
  })

  test('the dialog proposes an image with apps, one core, and the shared memory of the image', async () => {
    await openLaunchDialog(page)
    const first = page.locator('.image').first()
    expect(await first.getByRole('radio').isChecked()).toBe(true)
    expect(await first.locator('.image-app').count()).toBeGreaterThan(0)
    await page.getByText('Python 3.13 with JupyterLab').first().click()
    expect(await page.getByRole('textbox', { name: 'CPU', exact: true }).inputValue()).toBe('1')
    expect(await page.getByRole('textbox', { name: 'Shared memory', exact: true }).inputValue()).toBe('64 MiB')
    expect(await audit(page)).toEqual([])
  })

  test('a launched session becomes running on the page, and its figures change', async () => {
    await page.getByRole('textbox', { name: 'RAM', exact: true }).fill('1 GiB')
    await page.getByLabel('Name optional').fill(SESSION)
    await button(page, /^Launch$/).click()
    const row = rowOf(page, SESSION)
    await row.waitFor()
    await page.evaluate(() => Object.assign(globalThis, { neverReloaded: true }))
    await row.getByText('Running', { exact: true }).waitFor()
    const ram = row.getByRole('meter', { name: 'RAM' })
    await expect.poll(() => ram.getAttribute('aria-valuetext'), SOON).toMatch(/^[\d.]+ [KM]iB$/)
    // Without a limit, only the held amount is shown, and no bar.
    const held = page.locator('.top-bar .gauges-item', { hasText: 'RAM' }).locator('.gauge-text')
    await expect.poll(() => held.innerText(), SOON).toBe('1 GiB')
    expect(await page.evaluate(() => 'neverReloaded' in globalThis)).toBe(true)
    expect(await audit(page)).toEqual([])
  })

  test('another user sees nothing of it', async () => {
    const eve = await berth.user('eve@localhost')
    await using other = await visit(browser, berth.url)
    const tab = await other.openTab('/sessions')
    await signIn(tab, eve.email, eve.password)
    await tab.getByText('No sessions are running').waitFor()
    expect(await tab.getByText(SESSION).count()).toBe(0)
    expect(other.problems).toEqual([])
  })
})

describe('JupyterLab', () => {
  test('JupyterLab opens on an origin of its own and computes in the container', async () => {
    await openApps(page, SESSION)
    expect(await audit(page)).toEqual([])
    const lab = await openApp(page, /JupyterLab/)
    expect(new URL(lab.url()).hostname).toMatch(/^jupyterlab--[a-z2-7]{12}\.localhost$/)
    expect(lab.url()).not.toMatch(/ticket|token/i)
    expect(await lab.evaluate(() => window.opener as unknown)).toBeNull()
    expect(await runInNotebook(lab, '1+1')).toBe('2')
    await lab.close()
    await leaveDialog(page, /^Apps of/)
  })

  test('the page of JupyterLab cannot read from the manager', async () => {
    await openApps(page, SESSION)
    const lab = await openApp(page, /JupyterLab/)
    const answer = await lab.evaluate(async url => {
      const reply = await fetch(`${url}/api/v1/me`, { credentials: 'include' }).catch(() => null)
      return reply?.status ?? 'refused'
    }, berth.url)
    expect(answer).toBe('refused')
    await lab.close()
    await leaveDialog(page, /^Apps of/)
  })
})

describe('the terminal', () => {
  let tab: Page

  test('the terminal runs typed commands', async () => {
    tab = await openTerminal(page, SESSION)
    await typeLine(tab, 'echo "the answer is $((6*7))" | tee answer.txt')
    await screen(tab).filter({ hasText: 'the answer is 42' }).waitFor()
    expect(await audit(tab)).toEqual([])
  })

  test('a reload returns to the same shell', async () => {
    await typeLine(tab, 'kept=from-before; clear')
    await screen(tab).filter({ hasNotText: 'the answer is' }).waitFor()
    await tab.reload()
    await atPrompt(tab)
    await typeLine(tab, 'echo "kept is $kept"')
    await screen(tab).filter({ hasText: 'kept is from-before' }).waitFor()
  })

  test('a link to a port of the session opens that port, and not one of this computer', async () => {
    // The shell computes the texts, so the typed lines do not contain their output.
    const page = 'mkdir -p /tmp/www && echo "port $((8700+65)) answers" > /tmp/www/hello.txt'
    await typeLine(tab, `${page}; python3 -m http.server -d /tmp/www 8765 >/dev/null 2>&1 &`)
    const whenItAnswers = 'until curl -s localhost:8765 >/dev/null; do sleep 0.2; done'
    await typeLine(tab, `${whenItAnswers}; clear; echo "see http://localhost:$((8700+65))/hello.txt"`)
    const text = tab.locator('.xterm-rows span', { hasText: 'see http://localhost:8765/hello.txt' })
    const box = await text.boundingBox({ timeout: 60_000 })
    const [x, y] = [box!.x + box!.width / 2, box!.y + box!.height / 2]
    // The terminal searches for links where the pointer moves.
    let step = 0
    await expect
      .poll(async () => {
        await tab.mouse.move(x + (step++ % 2), y)
        return await tab.locator('.xterm-cursor-pointer').count()
      }, SOON)
      .toBe(1)
    const [opened] = await Promise.all([tab.context().waitForEvent('page'), tab.mouse.click(x, y)])
    await opened.waitForURL(/^http:\/\/http-8765--[a-z2-7]{12}\.localhost:\d+\/hello\.txt$/)
    await opened.getByText('port 8765 answers').waitFor()
    await opened.close()
  })

  test('the terminal has the size of its window', async () => {
    const columns = async () => {
      await typeLine(tab, 'clear; echo "columns=$(tput cols 2>/dev/null || stty size | cut -d" " -f2);"')
      await screen(tab)
        .filter({ hasText: /columns=\d+;/ })
        .waitFor()
      return Number(/columns=(\d+);/.exec(await screen(tab).innerText())?.[1])
    }
    const before = await columns()
    await tab.setViewportSize({ width: 700, height: 500 })
    await expect.poll(columns, SOON).toBeLessThan(before)
    await tab.close()
  })
})

describe('SSH and SFTP', () => {
  let clients: FileClients
  let source: string
  let expected: string

  test('the dialog shows address, port, host key and both keys', async () => {
    await openSsh(page, SESSION)
    expect(await audit(page)).toEqual([])
    const facts = {
      host: await sshFact(page, 'Address'),
      port: await sshFact(page, 'Port'),
      user: await sshFact(page, 'User'),
      fingerprint: await sshFact(page, 'Host key'),
      key: await download(page, 'OpenSSH key', 'id_container'),
      ppk: await download(page, 'PuTTY, WinSCP', 'id_container.ppk'),
    }
    expect(facts).toMatchObject({ host: '127.0.0.1', user: 'work' })
    expect(await readFile(facts.ppk, 'utf8')).toMatch(/^PuTTY-User-Key-File-3: ssh-ed25519/)
    clients = await openFileClients(facts, join(directory, 'clients'))
    expect((await clients.ssh('id -un')).trim()).toBe('work')
    source = join(directory, 'source')
    await writeFile(source, randomBytes(SIZE))
    expected = await sha256(source)
  })

  test.each(casesOf(['sftp', 'scp', 'rsync', 'psftp'] as const, 4))(
    '%s moves 100 MB both ways unchanged',
    async program => {
      const target = join(directory, `${program}-back`)
      const began = performance.now()
      await clients.roundTrips[program](source, `by-${program}`, target)
      const seconds = (performance.now() - began) / 1000
      console.log(`${program}: 2 × 100 MB in ${seconds.toFixed(1)} s`)
      expect((await clients.ssh(`sha256sum by-${program}`)).split(' ')[0]).toBe(expected)
      expect(await sha256(target)).toBe(expected)
      await rm(target)
      await clients.ssh(`rm by-${program}`)
    },
  )

  test('the transfers went directly to the container, by a key that only agent and console know', async () => {
    const servers = await berth.servers()
    const of = async (pid: number) => {
      const variables = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0')
      const valueOf = (name: string) => variables.find(text => text.startsWith(`${name}=`))?.slice(name.length + 1)
      return { key: valueOf('BERTH_DIRECT_KEY'), managerUrl: valueOf('BERTH_MANAGER_URL') }
    }
    const { key = '', managerUrl = '' } = await of(servers.console)
    expect(key).toMatch(/^[\w-]{43}$/)
    expect([(await of(servers.agent)).key, (await of(servers.manager)).key]).toEqual([key, undefined])
    for (const pid of Object.values(servers)) expect(await readFile(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(key)
    const metrics = await (await fetch(`${managerUrl}/metrics`)).text()
    const counts = [...metrics.matchAll(/^berth_tunnel_bytes_total\{.*\} (\S+)$/gm)].map(([, bytes]) => Number(bytes))
    expect(counts).toHaveLength(2)
    expect(Math.max(...counts)).toBeLessThan(SIZE)
  })

  test('the dialog counts the transferred bytes, and closes the port', async () => {
    const port = await sshFact(page, 'Port')
    await button(page, 'Done').click()
    await showPorts(page)
    await page.getByText(`127.0.0.1:${port}`).waitFor()
    await button(page, new RegExp(`^Close SSH.* at port ${port}$`)).click()
    await page.getByText(`127.0.0.1:${port}`).waitFor({ state: 'detached' })
    await expect(clients.ssh('true')).rejects.toThrow(/refused/)
    await leaveDialog(page, /^Apps of/)
  })
})

describe('the history of a session', () => {
  test('the timeline names every status and its reason', async () => {
    await page.getByRole('link', { name: SESSION, exact: true }).click()
    const timeline = page.locator('ol.timeline')
    for (const state of ['Waiting', 'Preparing', 'Running']) await timeline.getByText(state).first().waitFor()
    expect(await timeline.locator('.why').allInnerTexts()).not.toContain('')
    expect(await audit(page)).toEqual([])
  })

  test('the log and the details are shown', async () => {
    await page.getByRole('tab', { name: 'Logs' }).click()
    await page.getByRole('tabpanel').or(page.locator('.logs')).first().waitFor()
    expect(await audit(page)).toEqual([])
    await page.getByRole('tab', { name: 'Details' }).click()
    await page.getByText('berth/python:3.13').first().waitFor()
    expect(await audit(page)).toEqual([])
    await page.keyboard.press('Escape')
  })

  test('the session ends after a confirmation, and moves to the finished ones', async () => {
    await button(page, `Terminate ${SESSION}`).click()
    await page.getByText('No folder is mounted. Its home is kept').waitFor()
    expect(await audit(page)).toEqual([])
    await button(page, 'Terminate session').click()
    await rowOf(page, SESSION).waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: /All finished/ }).click()
    await rowOf(page, SESSION).getByText('Terminated', { exact: true }).waitFor()
    expect(await audit(page)).toEqual([])
  })

  test('the session starts again with its files', async () => {
    await page.getByRole('link', { name: SESSION, exact: true }).click()
    await button(page, 'Start again').click()
    const details = page.getByRole('complementary', { name: 'Session' })
    await details.getByText('Running', { exact: true }).first().waitFor({ timeout: 120_000 })
    expect(await audit(page)).toEqual([])
    await details.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('tab', { name: /All active/ }).click()
    const again = await openTerminal(page, SESSION)
    await typeLine(again, 'cat answer.txt')
    await screen(again).filter({ hasText: 'the answer is 42' }).waitFor()
    await again.close()
  })
})

describe('a cluster with TensorBoard', () => {
  const PAIR = 'two-of-them'

  test('the launch dialog starts two containers, and the page lists both', async () => {
    charts = await makeChartsImage()
    await openLaunchDialog(page)
    await openSection(page, 'Environment')
    await page.locator('.image', { hasText: charts.title }).click()
    await page.getByRole('textbox', { name: 'CPU', exact: true }).fill('0.1')
    await page.getByRole('textbox', { name: 'RAM', exact: true }).fill('64 MiB')
    await page.getByLabel('Containers per session').fill('2')
    await page.getByLabel('Name optional').fill(PAIR)
    await button(page, /^Launch$/).click()
    await rowOf(page, PAIR).getByText('Running', { exact: true }).waitFor({ timeout: 120_000 })
    await page.getByRole('link', { name: PAIR, exact: true }).click()
    await page.getByRole('tab', { name: 'Details' }).click()
    const roles = page.locator('.kernel').getByText(/^(main|sub)\d$/)
    await expect.poll(() => roles.allInnerTexts(), SOON).toEqual(['main1', 'sub1'])
    await page.getByText(/^Disk: .* read, .* written/).waitFor()
    await page.keyboard.press('Escape')
  })

  test('TensorBoard asks for its log directory, starts with it, and starts again with another one', async () => {
    await openApps(page, PAIR)
    const startIn = async (directory: string) => {
      await page.locator('.tile-button', { hasText: 'TensorBoard' }).click()
      await page.getByLabel('Log directory').fill(directory)
      await page.getByLabel('SAMPLES').fill('all')
      const [tab] = await Promise.all([page.context().waitForEvent('page'), button(page, /^Start$/).click()])
      await tab.waitForURL(/^http:\/\/tensorboard--[a-z2-7]{12}\.localhost:/, { timeout: 60_000 })
      const text = await tab.locator('body').innerText()
      await tab.close()
      return text.trim()
    }
    expect(await startIn('/home/work/runs')).toBe('--logdir /home/work/runs, all samples')
    expect(await startIn('/home/work/older runs')).toBe('--logdir /home/work/older runs, all samples')
    await leaveDialog(page, /^Apps of/)
  })

  test('it is opened to people without an account by a link with a password, until the link is taken back', async () => {
    const PASSWORD = 'For-my-group-1'
    await openApps(page, PAIR)
    await showPorts(page)
    await button(page, 'New link').click()
    await page.getByLabel('Password').first().fill(PASSWORD)
    await button(page, 'Make link').click()
    const link = await page.getByText(/^http:\/\/public\.localhost:\S+$/).innerText()
    await page.getByText('asks for a password').waitFor()
    expect(await audit(page)).toEqual([])

    await using guest = await visit(browser, berth.url)
    const tab = await guest.context.newPage()
    await tab.goto(link)
    await tab.getByLabel('Password').fill('a-guess-of-mine')
    await tab.keyboard.press('Enter')
    await tab.getByText('Wrong password.').waitFor()
    await tab.getByLabel('Password').fill(PASSWORD)
    await tab.keyboard.press('Enter')
    await tab.getByText('all samples').waitFor()
    expect(tab.url()).not.toContain('key=')

    await button(page, 'End the link to TensorBoard').click()
    await page.getByText('asks for a password').waitFor({ state: 'detached' })
    for (const address of [tab.url(), link]) {
      // The first request after the end may still be answered as one to an app that was here.
      await expect.poll(async () => (await tab.goto(address))?.status()).toBe(410)
      await tab.getByText('This link was withdrawn').waitFor()
    }
    await leaveDialog(page, /^Apps of/)
  })
})

async function download(from: Page, label: string, name: string): Promise<string> {
  const control = from.locator('.files button', { hasText: label })
  const [file] = await Promise.all([from.waitForEvent('download'), control.click()])
  expect(file.suggestedFilename()).toBe(name)
  const path = join(directory, name)
  await file.saveAs(path)
  return path
}
