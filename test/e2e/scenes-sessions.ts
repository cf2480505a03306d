import { type Page } from 'playwright-core'
import { because, type FolderMount, NO_ANNOUNCEMENT, toldBy } from '#manager/contract'
import { type Notice } from '../../renderer/features/notifications/notice.ts'
import { aFolder, variedFolders } from './console-double-folders.ts'
import {
  ago,
  aSession,
  ENDED_KERNEL,
  figuresOf,
  HISTORY,
  INVITATION,
  LIMITED,
  OTHER,
  OWNER,
  sharedFiguresOf,
} from './console-world.ts'
import { button, type Scene } from './scene.ts'

/** A folder from the launch, and a folder that was added. */
const MOUNTED: FolderMount[] = [
  { folderId: aFolder(1).id, name: 'experiments', path: '/home/work/experiments', readOnly: false },
  { folderId: aFolder(4).id, name: 'models', path: '/home/work/in/models', readOnly: true, added: true },
]
const LAUNCHED = aSession(7, { launchedBy: 'jonas.lindqvist@lab.example.org', startupCommand: 'python train.py' })
const SHARING = aSession(7, {
  requested: { cpu: '4', mem: String(2 ** 34), 'cuda.shares': '0.25' },
  kernels: [{ ...ENDED_KERNEL, status: 'RUNNING', devices: [{ uuid: 'GPU-0', slot: 'cuda.shares', amount: '0.25' }] }],
  stats:
    sharedFiguresOf(new URL('http://localhost/?from=2026-01-01T00:00:00Z&to=2026-01-01T00:10:00Z')).items.at(-1) ??
    null,
})
const person = 'jonas.lindqvist@lab.example.org'
/** News of an account: each kind has a sentence of its own, and some are long. */
const TOLD: readonly Partial<Notice>[] = [
  { kind: 'told_session_launched', person, to: `/sessions/${LAUNCHED.id}` },
  { kind: 'told_keypair_made', person, name: 'BKIAEXAMPLE0000000' },
  { kind: 'told_password_ended', person },
  { kind: 'told_domain_changed', person, name: 'chemistry' },
  { kind: 'running', name: 'train-resnet-50', to: `/sessions/${LAUNCHED.id}` },
  { kind: 'told_second_factor_off', person },
]
/** Notices for superadmins about hosts and Berth itself. */
const FAULTS: readonly Partial<Notice>[] = [
  { kind: 'hostFault', name: 'gpu-07.cluster.lab.example.org', to: '/admin/agents' },
  { kind: 'hostWell', name: 'gpu-07.cluster.lab.example.org', to: '/admin/agents' },
  { kind: 'certificate', to: '/admin/about' },
  { kind: 'backupFailed', to: '/admin/maintenance' },
]
const NO_PROGRAM = because('nothing_listens', { port: 7860 })

/** Summary, lists and pages of sessions, statistics, and what every page has. */
export const SESSION_SCENES: readonly Scene[] = [
  {
    name: 'sessions',
    path: '/sessions',
    async act(page, double) {
      await page.getByText('train-resnet-50').waitFor()
      for (const session of double.world.sessions) {
        if (session.stats) double.emit('stats', { sessionId: session.id, stats: session.stats })
      }
    },
  },
  {
    name: 'sessions-admin-selected',
    alike: true,
    path: '/sessions',
    world: { role: 'superadmin' },
    async act(page) {
      await page.getByLabel('Select train-resnet-50').click()
      await page.getByLabel('Select data-clean_up.v2').click({ modifiers: ['Shift'] })
      await page.getByText('3 selected').waitFor()
    },
  },
  {
    name: 'sessions-compact',
    alike: true,
    path: '/sessions',
    world: { role: 'superadmin' },
    async act(page, double) {
      await page.evaluate(() => localStorage.setItem('berth.density', 'compact'))
      await page.reload()
      await page.getByText('train-resnet-50').waitFor()
      for (const session of double.world.sessions) {
        if (session.stats) double.emit('stats', { sessionId: session.id, stats: session.stats })
      }
    },
  },
  {
    name: 'sessions-finished',
    alike: true,
    path: '/sessions?list=finished',
    async act(page) {
      await page.getByText('too-little-memory').waitFor()
      await page.getByLabel('Select all shown').check()
    },
  },
  {
    name: 'sessions-empty',
    alike: true,
    path: '/sessions',
    world: { sessions: [] },
    act: page => page.getByText('No sessions are running').waitFor(),
  },
  {
    name: 'sessions-loading',
    alike: true,
    path: '/sessions',
    world: { holdLists: true },
    act: page => page.getByLabel('Loading sessions').waitFor(),
  },
  {
    name: 'sessions-failed',
    alike: true,
    path: '/sessions',
    world: {
      failures: new Map([['GET /api/v1/sessions', { code: 'unavailable', detail: { ...because('database_away') } }]]),
    },
    act: page => page.getByText('Berth is not available right now').waitFor(),
  },
  {
    name: 'sessions-no-match',
    alike: true,
    path: '/sessions',
    async act(page) {
      await page.getByLabel('Search sessions').fill('nothing like this')
      await page.getByText('No session matches').waitFor()
    },
  },
  {
    name: 'terminate',
    path: '/sessions',
    async act(page) {
      await button(page, 'Terminate train-resnet-50').click()
      await button(page, 'Terminate session').waitFor()
    },
  },
  {
    name: 'session-ends-soon',
    alike: true,
    path: `/sessions/${aSession(7).id}`,
    world: {
      sessions: [
        aSession(7, {
          name: 'left-alone',
          ends: {
            at: new Date(Date.now() + 270_000).toISOString(),
            why: 'idle_timeout',
            warnedAt: new Date(Date.now() - 30_000).toISOString(),
          },
        }),
      ],
    },
    act: page => button(page, 'Extend').waitFor(),
  },
  {
    name: 'session-interrupted-soon',
    alike: true,
    path: `/sessions/${aSession(7).id}`,
    world: {
      sessions: [
        aSession(7, {
          name: 'gives-way',
          interruptible: true,
          interruptAt: new Date(Date.now() + 570_000).toISOString(),
        }),
      ],
    },
    act: page => page.getByText('It makes room for a session of higher priority').waitFor(),
  },
  {
    name: 'sessions-many-owners',
    alike: true,
    path: '/sessions',
    world: {
      role: 'domain_admin',
      sessions: Array.from({ length: 28 }, (_, index) =>
        aSession(index + 1, { name: `a-rather-long-name-of-batch-${index}`, ...(index % 2 ? OTHER : {}) }),
      ),
    },
    act: page => page.getByText('a-rather-long-name-of-batch-0', { exact: true }).waitFor(),
  },
  {
    name: 'session-details',
    path: `/sessions/${aSession(7).id}?tab=details`,
    world: { sessions: [aSession(7)] },
    act: page => page.getByRole('heading', { name: 'Identity' }).waitFor(),
  },
  {
    name: 'session-folders',
    path: `/sessions/${aSession(7).id}?tab=details`,
    world: { sessions: [aSession(7, { folders: MOUNTED })], folders: variedFolders() },
    async act(page) {
      await page.getByRole('button', { name: 'Add folder' }).click()
      const dialog = page.getByRole('dialog', { name: 'Add a folder to' })
      await dialog.getByRole('combobox', { name: 'Folder' }).press('ArrowDown')
      await page.getByRole('option', { name: /papers/ }).click()
      await dialog.getByText('At /home/work/papers').waitFor()
    },
  },
  {
    name: 'session-folders-fixed',
    alike: true,
    path: `/sessions/${aSession(7).id}?tab=details`,
    world: {
      sessions: [aSession(7, { folders: MOUNTED, foldersFixed: toldBy(because('folders_container_older')) })],
      folders: variedFolders(),
    },
    async act(page) {
      await page.getByText('Folders cannot be added now').waitFor()
      await page.getByRole('button', { name: 'Start again with other folders' }).click()
      await page.getByText('It runs now').waitFor()
    },
  },
  {
    name: 'session-image',
    path: `/sessions/${aSession(7).id}?tab=details`,
    world: { sessions: [aSession(7)] },
    async act(page) {
      await page.getByRole('button', { name: 'Make an image' }).click()
      const dialog = page.getByRole('dialog', { name: 'This session as an image' })
      await dialog.getByLabel('Name of the image').fill('Vision')
      await dialog.getByRole('button', { name: 'Ask for an image' }).click()
      await dialog.getByText('every user may launch the image').waitFor()
    },
  },
  {
    name: 'summary',
    path: '/summary',
    world: {
      ...LIMITED,
      visitSince: ago(20 * 60),
      invitations: [INVITATION],
      announcement: {
        ...NO_ANNOUNCEMENT,
        id: 'maintenance',
        text: 'The GPU hosts are down for **maintenance** on Saturday, 08:00 to 12:00.\n\n- Sessions on them end at 07:45.\n- [What is done](https://example.org/plan)',
        level: 'warning',
        until: ago(-6 * 60),
      },
    },
    async act(page) {
      await page.evaluate(owner => {
        localStorage.setItem(
          `berth.launch.${owner}`,
          JSON.stringify({ image: 'berth/python:3.13', cpu: 2000, mem: 2 ** 32, shmem: 2 ** 28, gpu: 1 }),
        )
      }, OWNER)
      await page.reload()
      await page.getByText('Since your last visit').waitFor()
      await button(page, 'Launch with the last settings').waitFor()
      await page.getByText('8 of').or(page.getByText('2 of 2 hosts connected')).first().waitFor()
    },
  },
  {
    name: 'summary-empty',
    alike: true,
    path: '/summary',
    world: { sessions: [] },
    act: page => page.getByText('No session is active').waitFor(),
  },
  {
    name: 'summary-failed',
    alike: true,
    path: '/summary',
    world: {
      failures: new Map([
        ['GET /api/v1/sessions', { code: 'unavailable' }],
        ['GET /api/v1/usage', { code: 'unavailable' }],
      ]),
    },
    act: page => page.getByText('Berth is not available right now').first().waitFor(),
  },
  {
    name: 'project-menu',
    alike: true,
    path: '/sessions',
    world: LIMITED,
    async act(page) {
      await button(page, /^Project: /).click()
      await page.getByText('Left: 4 CPU, 0 GPU').waitFor()
    },
  },
  {
    name: 'project-chosen',
    alike: true,
    path: '/sessions',
    world: LIMITED,
    async act(page) {
      await button(page, /^Project: /).click()
      await page.getByText('Left: 4 CPU, 0 GPU').click()
      await page.getByText('No running sessions in the project vision').waitFor()
    },
  },
  {
    name: 'statistics',
    path: '/statistics',
    world: {
      history: HISTORY,
      announcement: {
        ...NO_ANNOUNCEMENT,
        id: 'outage',
        text: 'The storage **archive** is away since 14:00. Sessions that mount it wait, and continue by themselves once it is back.',
        level: 'critical',
      },
    },
    act: page => page.locator('.chart-plot canvas').nth(4).waitFor(),
  },
  {
    name: 'palette',
    path: '/summary',
    async act(page) {
      await page.keyboard.press('Control+k')
      await page.getByRole('option', { name: 'train-resnet-50' }).waitFor()
    },
  },
  {
    name: 'information',
    path: '/information',
    act: page =>
      page
        .getByText(/Works, /)
        .first()
        .waitFor(),
  },
  {
    name: 'session-charts',
    path: `/sessions/${aSession(7).id}?tab=charts&range=24h`,
    world: { sessions: [aSession(7)], figures: figuresOf },
    act: page => page.locator('.chart-plot canvas').nth(5).waitFor(),
  },
  {
    name: 'session-charts-gpu-share',
    alike: true,
    path: `/sessions/${aSession(7).id}?tab=charts`,
    world: { sessions: [SHARING], figures: sharedFiguresOf },
    async act(page) {
      const plots = page.locator('.chart-plot canvas')
      await plots.nth(5).waitFor()
      await plots.nth(2).scrollIntoViewIfNeeded()
    },
  },
  {
    name: 'session-charts-table',
    alike: true,
    path: `/sessions/${aSession(7).id}?tab=charts`,
    world: { sessions: [aSession(7)], figures: figuresOf },
    async act(page) {
      await button(page, 'Show as table').click()
      await page.getByRole('cell', { name: 'KiB/s' }).first().waitFor()
    },
  },
  {
    name: 'sessions-list-of-failed',
    alike: true,
    path: '/sessions?list=failed',
    act: page => page.getByText('too-little-memory').waitFor(),
  },
  {
    name: 'usage',
    path: '/sessions',
    async act(page) {
      await button(page, /^Usage and limits/).click()
      await page.getByText('Project vision').waitFor()
    },
  },
  {
    name: 'terminal-of-somebody-else',
    alike: true,
    path: `/terminal/${aSession(7).id}`,
    world: { sessions: [aSession(7, OTHER)] },
    act: page => page.getByText('This session belongs to somebody else').waitFor(),
  },
  {
    name: 'apps-port',
    path: '/sessions',
    world: { failures: new Map([['POST /host/tunnel/openApp', { code: 'port_silent', detail: { ...NO_PROGRAM } }]]) },
    async act(page) {
      await page.locator('button[aria-label^="Apps of"]:enabled').first().click()
      await page.getByRole('tab', { name: 'Ports and links' }).click()
      await page.getByRole('textbox', { name: 'Port in the session' }).fill('7860')
      await button(page, 'Open port').click()
      await page.getByText(NO_PROGRAM.why).waitFor()
    },
  },
  { name: 'not-found', path: '/nowhere', act: page => page.getByText('Page not found').waitFor() },
  {
    name: 'session-launched-by',
    alike: true,
    path: `/sessions/${LAUNCHED.id}`,
    world: { sessions: [LAUNCHED] },
    act: page => page.getByText('jonas.lindqvist@lab.example.org').first().waitFor(),
  },
  {
    name: 'notices-of-account',
    alike: true,
    path: '/summary',
    act: page => openNotices(page, TOLD),
  },
  {
    name: 'notices-of-hosts',
    alike: true,
    path: '/summary',
    world: { role: 'superadmin' },
    act: page => openNotices(page, FAULTS),
  },
]

/** Opens the bell on these notices, which another tab has noted. */
async function openNotices(page: Page, notices: readonly Partial<Notice>[]): Promise<void> {
  const noted = notices.map((notice, index) => ({
    ...{
      id: `n${index}`,
      kind: 'message',
      name: '',
      to: '/account',
      at: Date.now() - index * 7_000_000,
      read: index > 2,
    },
    ...notice,
  }))
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.evaluate(async items => {
    const { user } = (await (await fetch('/api/v1/me')).json()) as { user: { id: string } }
    const key = `berth.notices.${user.id}`
    localStorage.setItem(key, items)
    dispatchEvent(new StorageEvent('storage', { key }))
  }, JSON.stringify(noted))
  await button(page, /unread/).click()
}
