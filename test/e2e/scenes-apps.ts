import { type Page } from 'playwright-core'
import { type App, AppError, because, PublishedAppId, type PublishedApp, toWireError } from '#manager/contract'
import { ago, aSession } from './console-world.ts'
import { TunnelId, type Tunnel } from '#proxy/contract'
import { button, type Scene } from './scene.ts'

const APPS: App[] = [
  { name: 'jupyterlab', title: 'JupyterLab', protocol: 'http', path: '/lab' },
  { name: 'vscode', title: 'VS Code', protocol: 'http', path: '/' },
  { name: 'tensorboard', title: 'TensorBoard', protocol: 'http', path: '/' },
  {
    name: 'serve',
    title: 'Model server with a long name',
    protocol: 'http',
    path: '/',
    allowedOptions: {
      arguments: ['--model', '--reload'],
      environment: ['HUGGING_FACE_HUB_TOKEN'],
      defaults: { '--model': '/home/work/models/resnet-50' },
    },
  },
  { name: 'sshd', title: 'SSH / SFTP', protocol: 'tcp', path: '/' },
]
const SESSION = aSession(0, { apps: APPS })
const NAME = 'k3v7q2m5x4abcdef'
const LINK: PublishedApp = {
  id: PublishedAppId.parse('01900000-0000-7000-8000-00000000000a'),
  sessionId: SESSION.id,
  sessionName: SESSION.name,
  app: 'jupyterlab',
  title: 'JupyterLab',
  ownerId: SESSION.ownerId,
  owner: SESSION.ownerEmail,
  url: `https://${NAME}.apps.example.org/_berth/open?key=${'k'.repeat(43)}`,
  port: null,
  hasPassword: true,
  addresses: ['203.0.113.0/24', '2001:db8::/32'],
  createdAt: ago(90),
  expiresAt: ago(-390),
  visits: 3,
  lastVisitAt: ago(4),
}
const ON = { on: true, maxHours: 168, ports: { first: 20_000, last: 20_099 } }
const WORLD = { sessions: [SESSION], published: { items: [LINK], publishing: ON } }

const aTunnel = (number: number, app: App, change: Partial<Tunnel> = {}): Tunnel => ({
  id: TunnelId.parse(`tunnel-${number}`),
  sessionId: SESSION.id,
  sessionName: SESSION.name,
  app,
  host: '127.0.0.1',
  port: 30_000 + number,
  state: 'open',
  connections: number,
  bytesUp: 18_432 * number,
  bytesDown: 73_400_320 * number,
  lastError: null,
  openedAt: ago(60 - number),
  ...change,
})
export const TUNNELS = [
  aTunnel(1, APPS[0]!),
  aTunnel(2, APPS[3]!, {
    state: 'reconnecting',
    lastError: toWireError(new AppError('unavailable', because('manager_away'))),
  }),
  aTunnel(3, APPS[4]!),
]
const DESKTOPS: App[] = [
  { name: 'vnc', title: 'Desktop by VNC', protocol: 'tcp', path: '/' },
  { name: 'xrdp', title: 'Desktop by Remote Desktop', protocol: 'tcp', path: '/' },
]
const FOLDER_PORT = { host: '127.0.0.1', port: 30_022, connections: 1, openedAt: ago(20) }

/** Apps of a session: options, and links that are open to the public. */
export const APP_SCENES: readonly Scene[] = [
  {
    name: 'apps',
    path: '/sessions',
    world: WORLD,
    async act(page) {
      await button(page, /^Apps of/).click()
      await page.locator('.tile-button', { hasText: 'SSH' }).waitFor()
    },
  },
  {
    name: 'apps-ports',
    path: '/sessions',
    world: { ...WORLD, tunnels: [TUNNELS[0]!, TUNNELS[2]!] },
    async act(page) {
      await button(page, /^Apps of/).click()
      await page.getByRole('tab', { name: 'Ports and links' }).click()
      await button(page, 'End the link to JupyterLab').scrollIntoViewIfNeeded()
    },
  },
  {
    name: 'apps-programs',
    path: '/sessions',
    world: WORLD,
    async act(page) {
      await button(page, /^Apps of/).click()
      await page.getByRole('tab', { name: 'Ports and links' }).click()
      await page.getByText('curl -H').scrollIntoViewIfNeeded()
    },
  },
  {
    name: 'apps-tensorboard',
    path: '/sessions',
    world: WORLD,
    async act(page) {
      await button(page, /^Apps of/).click()
      await page.locator('.tile-button', { hasText: 'TensorBoard' }).click()
      await page.getByLabel('Log directory').waitFor()
    },
  },
  {
    name: 'apps-options',
    path: '/sessions',
    world: WORLD,
    async act(page) {
      await button(page, /^Apps of/).click()
      await button(page, 'Options of Model server with a long name').click()
      await page.getByRole('heading', { name: /^Options of/ }).waitFor()
    },
  },
  {
    name: 'apps-viewer',
    path: '/sessions',
    world: {
      sessions: [aSession(0, { apps: DESKTOPS })],
      tunnels: DESKTOPS.map((app, index) => aTunnel(index + 1, app)),
    },
    async act(page) {
      await button(page, /^Apps of/).click()
      for (const { title } of DESKTOPS) await page.locator('.tile-button', { hasText: title }).click()
      await page.getByText('127.0.0.1::30001').waitFor()
      await page.getByText('xfreerdp /v:127.0.0.1:30002').scrollIntoViewIfNeeded()
    },
  },
  {
    name: 'apps-open-to-public',
    path: '/sessions',
    world: WORLD,
    async act(page) {
      await button(page, /^Apps of/).click()
      await page.getByRole('tab', { name: 'Ports and links' }).click()
      await button(page, 'New link').click()
      await page.getByLabel('Password (optional)').fill('Open-sesame-1')
    },
  },
  {
    name: 'this-computer',
    alike: true,
    path: '/sessions',
    world: WORLD,
    async act(page) {
      await pretendUnproven(page)
      await page.reload()
      await button(page, /^Apps of/).click()
      await button(page, 'JupyterLab').last().click()
      await page.getByRole('button', { name: 'This computer', exact: true }).click()
      await page.getByText('berth local K7QM-2XWD --port 8410', { exact: true }).waitFor()
      await page.unroute(UNPROVEN)
    },
  },
  {
    name: 'account-links',
    path: '/account',
    world: WORLD,
    act: page => button(page, 'End the link to JupyterLab').scrollIntoViewIfNeeded(),
  },
  {
    name: 'tunnels',
    path: '/tunnels',
    world: { ...WORLD, tunnels: TUNNELS, folderPort: FOLDER_PORT },
    act: page => page.getByText('SFTP of all folders').waitFor(),
  },
  {
    name: 'tunnels-none',
    alike: true,
    path: '/tunnels',
    act: page => page.getByText('No tunnels are open').waitFor(),
  },
]

const UNPROVEN = /\/host\/(host\/info|tunnel\/openApp|local-code|local-proof)$/

/** A browser that may run on Berth's computer and has not proved it. */
async function pretendUnproven(page: Page): Promise<void> {
  const error = toWireError(new AppError('forbidden', { ...because('browser_unproven'), whySaysNext: true }))
  const values: Readonly<Record<string, unknown>> = {
    info: { kind: 'remote', isUnproven: true, version: '1', platform: 'linux' },
    'local-code': { code: 'K7QM-2XWD', validSeconds: 300, port: 8410 },
    'local-proof': null,
  }
  await page.route(UNPROVEN, route => {
    const called = new URL(route.request().url()).pathname.split('/').at(-1) ?? ''
    return route.fulfill({ json: called === 'openApp' ? { ok: false, error } : { ok: true, value: values[called] } })
  })
}
