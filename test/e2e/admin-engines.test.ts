import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Browser, type Locator, type Page } from 'playwright-core'
import { pack } from 'tar-stream'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type Session, sessionImagePrefix, type SessionSpec } from '#manager/contract'
import { silentLog } from '../../manager/log.ts'
import { startWeb } from '../../proxy/web/server.ts'
import { launchBrowser, visit, type Visitor } from '../fixtures/browser.ts'
import { BUSYBOX_IMAGE, docker, madeContainer } from '../fixtures/docker.ts'
import { type Lab, type LabHost, startLab } from '../fixtures/lab.ts'
import { ADMIN, CONSOLE_SECRET, temporaryDirectory } from '../fixtures/manager.ts'
import { type PacedRelay, startPacedRelay } from '../fixtures/paced-relay.ts'
import { startRegistry } from '../fixtures/registry.ts'
import { inTerminal } from '../fixtures/terminal.ts'
import { button, signIn } from './console-steps.ts'

/**
 * Pages of administration with three real engines, a real registry and two people at two browsers. The tests of this file
 * build on each other and run in their order.
 */
const ADA = 'ada@example.org'
const ADA_PASSWORD = 'Their-own-pass-1'
const SOON = { timeout: 120_000 }
const MiB = 2 ** 20

const stack = new AsyncDisposableStack()
let lab: Lab
let relay: PacedRelay
let box: string
let ada: { token: string; api: ApiClient }
let browser: Browser
let visitors: readonly Visitor[]
let page: Page
let adasPage: Page
let adasSession: Session
let third: LabHost

beforeAll(async () => {
  const registry = stack.use(await startRegistry())
  relay = stack.use(await startPacedRelay(registry.port))
  box = `127.0.0.1:${relay.port}/lab/box:1`
  const [, opened] = await Promise.all([
    pushBox(),
    startLab({
      hosts: ['lab-one', 'lab-two'],
      spare: ['lab-three'],
      gpus: { 'lab-one': [{ uuid: 'SIM-0' }, { uuid: 'SIM-1', mode: 'shared' }] },
      windows: [relay.port],
    }),
  ])
  lab = stack.use(opened)
  ada = await lab.manager.addUser(ADA)
  const url = `http://127.0.0.1:${relay.port}`
  await lab.api.createRegistry({ body: { name: `127.0.0.1:${relay.port}`, url } })
  await lab.api.rescanRegistry({ params: { name: `127.0.0.1:${relay.port}` } })
  const { path: dataDir } = stack.use(await temporaryDirectory())
  const consoleDir = new URL('../../dist/renderer/', import.meta.url).pathname
  const config = { dataDir, port: 0, managerUrl: lab.manager.url, allowedHosts: [], consoleDir, version: '1.2.3' }
  const web = stack.use(await startWeb({ ...config, consoleSecret: CONSOLE_SECRET, localProof: 'off' }, silentLog))
  browser = await launchBrowser()
  stack.defer(() => browser.close())
  visitors = await Promise.all([visit(browser, web.url), visit(browser, web.url)])
  const [admin, user] = visitors
  if (!admin || !user) throw new Error('nobody visits')
  // Sessions of other tests change the networks of this computer, and Chromium then aborts loading.
  for (const { context } of visitors) {
    await context.route(`${web.url}/assets/*`, route =>
      route.fulfill({ path: join(consoleDir, new URL(route.request().url()).pathname) }),
    )
  }
  ;[page, adasPage] = await Promise.all([admin.openTab('/admin/agents'), user.openTab('/sessions')])
  await signIn(page, ADMIN.email, ADMIN.password)
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor()
  await signIn(adasPage, ADA, ADA_PASSWORD)
})
afterAll(() => stack.disposeAsync())
afterEach(() => {
  expect(visitors.flatMap(({ problems }) => problems.splice(0))).toEqual([])
})

/** An image only in the registry, with two layers of its own that are large enough for their progress to be seen. */
async function pushBox(): Promise<void> {
  const [repo, tag] = [box.slice(0, box.lastIndexOf(':')), '1']
  let from = BUSYBOX_IMAGE
  for (const part of ['one', 'two']) {
    await using container = await madeContainer({ Image: from, Cmd: ['true'] })
    const archive = pack()
    archive.entry({ name: `srv/${part}` }, randomBytes(4 * MiB))
    archive.finalize()
    const chunks: Buffer[] = []
    for await (const chunk of archive) chunks.push(chunk as Buffer)
    await container.putArchive(Buffer.concat(chunks), { path: '/' })
    await container.commit({ repo, tag, changes: 'LABEL berth.image.title=Box' })
    from = box
  }
  const stream = await docker.getImage(repo).push({ tag, authconfig: {} })
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(stream, error => (error ? reject(error) : resolve()))
  })
  await docker.getImage(box).remove({ force: true })
}

async function toPage(name: string): Promise<void> {
  const pages = page.getByRole('navigation', { name: 'Administration' }).getByRole('link')
  await pages.filter({ hasText: name }).first().click()
  await page.getByRole('heading', { name, level: 1 }).waitFor()
}
async function toAgent(name: string): Promise<void> {
  await toPage('Agents')
  await page.getByRole('row').getByRole('link', { name }).first().click()
  await page.getByRole('heading', { name, level: 1 }).waitFor()
}
async function choose(box: Locator, ...options: string[]): Promise<void> {
  await box.press('ArrowDown')
  for (const name of options) await page.getByRole('option', { name, exact: true }).click()
  // The list of a field for several values stays open.
  if (options.length > 1) await box.press('Tab')
}
const dialog = () => page.getByRole('dialog')

async function launch(api: ApiClient, spec: Partial<SessionSpec> = {}): Promise<Session> {
  const resources = { cpu: '0.1', mem: '64m', ...spec.resources }
  const { items } = await api.createSession({ body: { image: BUSYBOX_IMAGE, ...spec, resources } })
  const [session] = items
  if (!session) throw new Error('no session')
  return session
}
const show = ({ id }: Session) => lab.api.getSession({ params: { id } })
const is = (session: Session, status: Session['status']) =>
  expect.poll(async () => (await show(session)).status, SOON).toBe(status)
async function running(session: Session): Promise<Session> {
  await is(session, 'RUNNING')
  return show(session)
}
async function end(session: Session): Promise<void> {
  await lab.api.deleteSession({ params: { id: session.id } })
  await is(session, 'TERMINATED')
}
const hosts = () => [...lab.hosts, third]
const hostOf = (session: Session) => hosts().find(({ agentId }) => agentId === session.kernels[0]?.agentId)
const inHers = (session: Session, line: string, answer: RegExp) =>
  inTerminal({ url: lab.manager.url, token: ada.token }, session.id, line, answer)

test('the join dialog gives a command, and says so when the agent that was started with it is here', async () => {
  await button(page, 'Add a host').click()
  await dialog().getByText('works only there').waitFor()
  await dialog().getByText('Berth is installed there already').click()
  const command = await dialog().getByLabel('Command', { exact: true }).innerText()
  await dialog().getByText('Waiting for the host').waitFor()
  const [program, ...args] = command.trim().split(' ')
  expect([program, ...args.slice(0, -1)]).toEqual(['berth', 'agent', '--join'])
  third = await lab.join('lab-three', args.at(-1) ?? '')
  await dialog().getByText('lab-three has joined.').waitFor(SOON)
  await dialog().getByRole('link', { name: 'Show the agent' }).click()
  await page.getByRole('heading', { name: 'lab-three', level: 1 }).waitFor()
})

test('an image is pulled to two chosen agents, layer by layer; the pull is cancelled, and made again', async () => {
  const held = ({ engine }: LabHost) => engine.docker('images', '-q', box)
  const pull = async () => {
    await toPage('Images')
    await button(page, 'Pull an image').click()
    await dialog().getByLabel('Image', { exact: true }).fill(box)
    await choose(dialog().getByRole('combobox', { name: 'To agents' }), 'lab-one', 'lab-two')
    await dialog().getByRole('button', { name: 'Pull an image' }).click()
  }
  relay.pace(MiB)
  await pull()
  const bars = page.getByRole('meter')
  await expect
    .poll(() =>
      bars
        .filter({ hasText: /^lab-(one|two)/ })
        .filter({ hasText: 'MiB' })
        .count(),
    )
    .toBe(2)
  const layers = page.locator('summary').filter({ hasText: 'on lab-one' })
  await layers.click()
  await page
    .getByRole('meter')
    .filter({ hasText: /Pulling · .* \/ 4 MiB/ })
    .first()
    .waitFor()
  expect(await bars.filter({ hasText: 'lab-three' }).count()).toBe(0)
  await button(page, `Cancel ${box}`).click()
  await layers.waitFor({ state: 'detached' })
  relay.pace(null)
  await pull()
  await expect.poll(async () => (await Promise.all(lab.hosts.map(held))).every(Boolean), SOON).toBe(true)
  expect(await held(third)).toBe('')
  await page
    .getByRole('row')
    .filter({ hasText: box })
    .filter({ hasText: /lab-(one|two), lab-(one|two)/ })
    .waitFor(SOON)
})

test('a clean-up shows what it removes, and the image is gone from the engines afterwards', async () => {
  await button(page, 'Clean up').click()
  const preview = page.getByRole('alertdialog')
  await preview.getByText(box).first().waitFor()
  await preview.getByText(/Frees at least (8|9|1\d)[\d.]* MiB/).waitFor()
  await preview.getByRole('button', { name: 'Clean up' }).click()
  await page.getByText(/^Freed /).waitFor()
  for (const { engine } of lab.hosts) expect(await engine.docker('images', '-q', box)).toBe('')
  await page.getByRole('row').filter({ hasText: box }).filter({ hasText: 'None' }).waitFor(SOON)
})

test('the device map shows who holds a GPU or a share; the mode changes only while nobody does', async () => {
  adasSession = await launch(ada.api, {
    name: 'long-training',
    resources: { 'cuda.device': '1' },
    interruptible: true,
    priority: -1,
  })
  const sharer = await launch(ada.api, { name: 'notebook', resources: { 'cuda.shares': '0.5' } })
  adasSession = await running(adasSession)
  await is(sharer, 'RUNNING')
  await toAgent('lab-one')
  const device = (uuid: string) => page.locator('li.device').filter({ hasText: uuid })
  await device('SIM-0').filter({ hasText: 'long-training' }).filter({ hasText: 'Whole GPU' }).waitFor()
  await device('SIM-1').filter({ hasText: 'notebook' }).filter({ hasText: 'Share 0.5' }).waitFor()
  const mode = device('SIM-1').locator('input[role=combobox]')
  expect(await mode.isDisabled()).toBe(true)
  await end(sharer)
  await device('SIM-1').getByText('Free', { exact: true }).waitFor(SOON)
  await choose(mode, 'Whole')
  await page.getByText('Simulated GPU: changed.').waitFor()
  await expect
    .poll(async () => {
      const { items } = await lab.api.listAgents()
      return items.find(({ name }) => name === 'lab-one')?.devices.map(one => one.mode)
    }, SOON)
    .toEqual(['whole', 'whole'])
  await choose(mode, 'In shares')
})

test('an interruption is allowed in the page; the owner sees the countdown, and the session returns with its file', async () => {
  await inHers(adasSession, 'echo kept > /home/work/note; echo "now $((1+1))"', /now 2/)
  await toPage('Resource groups')
  await button(page, 'Edit default').click()
  await dialog().getByLabel('Waiting sessions may interrupt others').check()
  for (const [label, text] of [
    ['Not before they have run for', '1s'],
    ['Warn them this long before', '6s'],
  ] as const) {
    await dialog()
      .getByLabel(new RegExp(`^${label}:`))
      .uncheck()
    await dialog().getByLabel(label, { exact: true }).fill(text)
  }
  await button(dialog(), 'Save').click()
  await page.getByText('default saved.').waitFor()
  await adasPage.getByRole('link', { name: 'long-training' }).first().click()

  const urgent = await launch(lab.api, { name: 'urgent', resources: { 'cuda.device': '1' } })
  await adasPage
    .getByText(/Interrupted in \d s/)
    .first()
    .waitFor(SOON)
  await is(urgent, 'RUNNING')
  await is(adasSession, 'PENDING')
  await end(urgent)
  adasSession = await running(adasSession)
  await inHers(adasSession, 'cat /home/work/note', /kept\s/)
})

test('a session becomes an image on request: it is made, pushed, and launched on another host', async () => {
  const made = `${sessionImagePrefix((await ada.api.me()).user)}box:1`
  const pushed = `127.0.0.1:${relay.port}/lab/${made}`
  const session = await running(
    await launch(ada.api, { name: 'prepared', image: box, startupCommand: 'echo tool > /tmp/tool' }),
  )
  await adasPage.goto(`${adasPage.url().split('#')[0] ?? ''}#/sessions/${session.id}?tab=details`)
  await button(adasPage, 'Make an image').click()
  await adasPage.getByLabel('Name of the image').fill(made)
  await adasPage.getByRole('dialog').getByRole('button', { name: 'Ask for an image' }).click()
  await adasPage.getByText(`Waits for a superadmin: ${made}`).waitFor()

  await toPage('Images')
  await button(page, `Make ${made}`).click()
  await choose(dialog().getByRole('combobox', { name: 'Push to' }), `127.0.0.1:${relay.port}`)
  await dialog().getByLabel('Project', { exact: true }).fill('lab')
  await button(dialog(), 'Make it').click()
  await adasPage.getByText(`${made} was made.`).waitFor(SOON)
  await page.getByRole('row').filter({ hasText: pushed }).waitFor(SOON)

  const maker = hostOf(session)
  await lab.api.updateAgent({
    params: { id: session.kernels[0]?.agentId ?? third.agentId },
    body: { schedulable: false },
  })
  const copy = await running(await launch(ada.api, { image: pushed }))
  expect(hostOf(copy)?.name).not.toBe(maker?.name)
  await inHers(copy, 'cat /tmp/tool', /tool\s/)
  await Promise.all([end(copy), end(session)])
  await lab.api.updateAgent({ params: { id: maker?.agentId ?? third.agentId }, body: { schedulable: true } })
})

test('a drained agent tells the owners, shows how far it is, and gets sessions again when it is resumed', async () => {
  const session = await running(await launch(ada.api, { name: 'in-the-way' }))
  const drained = hostOf(session)
  if (!drained) throw new Error('no host')
  await toAgent(drained.name)
  await button(page, 'Drain').click()
  await page.getByText('1 session still runs.').waitFor()
  await button(page, 'Tell the owners').click()
  await button(dialog(), 'Send').click()
  await page.getByText('1 owner got the message.').waitFor()
  await button(adasPage, /unread notification/).click()
  await adasPage.getByText(`The host ${drained.name} will be switched off`).waitFor()
  await adasPage.keyboard.press('Escape')

  const next = await running(await launch(ada.api))
  expect(hostOf(next)?.name).not.toBe(drained.name)
  await Promise.all([end(session), end(next)])
  await page.getByText('Nothing runs on it any more.').waitFor(SOON)
  await button(page, 'Start sessions again').click()
  await page.getByText(`${drained.name} starts sessions again.`).waitFor()
  const others = hosts().filter(({ agentId }) => agentId !== drained.agentId)
  for (const { agentId } of others) await lab.api.updateAgent({ params: { id: agentId }, body: { schedulable: false } })
  const again = await running(await launch(ada.api))
  expect(hostOf(again)?.name).toBe(drained.name)
  await end(again)
})

test('an agent moves to another resource group, whose sessions start on it; it is not moved while one is there', async () => {
  await lab.api.createResourceGroup({ body: { name: 'quiet' } })
  const [, two] = lab.hosts
  await lab.api.updateAgent({ params: { id: two?.agentId ?? third.agentId }, body: { schedulable: true } })
  const move = async (to: string) => {
    await button(page, 'Move lab-two').click()
    await choose(dialog().getByRole('combobox', { name: 'Resource group' }), to)
    await button(dialog(), 'Move').click()
  }
  await toPage('Agents')
  await move('quiet')
  await page.getByText('lab-two is in quiet now.').waitFor()
  await page.getByPlaceholder('Search').fill('quiet')
  await page.getByRole('row').filter({ hasText: 'lab-one' }).waitFor({ state: 'detached' })
  const session = await running(await launch(lab.api, { name: 'quiet-work', resourceGroup: 'quiet' }))
  expect(hostOf(session)?.name).toBe('lab-two')
  await move('default')
  await dialog().getByText('quiet-work').waitFor()
  // The browser logs that a request was refused.
  expect(visitors.flatMap(({ problems }) => problems.splice(0))).toEqual([expect.stringContaining('409 (Conflict)')])
  await button(dialog(), 'Cancel').click()
  await end(session)
})

test('a forgotten agent ends, and is out of the list', async () => {
  await toAgent('lab-three')
  await button(page, 'Forget').click()
  await dialog().getByLabel('Type the name to confirm').fill('lab-three')
  await dialog().getByRole('button', { name: 'Forget' }).click()
  await page.getByText('lab-three is forgotten.').waitFor()
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor()
  expect(await page.getByRole('row').filter({ hasText: 'lab-three' }).count()).toBe(0)
  expect(await third.agent.exited).not.toBe(0)
})
