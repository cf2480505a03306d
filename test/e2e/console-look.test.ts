import { mkdir } from 'node:fs/promises'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startConsoleDouble } from './console-double.ts'
import { misfits, NARROW } from './console-fit.ts'
import { FILE_SCENES } from './console-look-files.ts'
import { startBrowser } from './console-open.ts'
import { SSH_KEY, TOTP_CODE } from './console-double-account.ts'
import { aSession, aWorld, figuresOf, HISTORY, INVITATION, LIMITED, oneGpuNow, OTHER } from './console-world.ts'
import { button, type Scene } from './scene.ts'
import { FOLDER_SCENES } from './scenes-folders.ts'
import { audit, loadPage, settle, SIZES } from '../fixtures/browser.ts'

/** Screenshots of every state of the console, for eyes; axe (WCAG 2.2 AA) and the page's own error log, for machines. */
const OUTPUT = new URL('../output/', import.meta.url).pathname
/** The narrow width at which every scene gets a picture. */
const PICTURED = '390'

let browser: Browser

beforeAll(async () => {
  browser = await startBrowser()
  await mkdir(OUTPUT, { recursive: true })
})
afterAll(() => browser.close())

const NO_PROGRAM = 'Nothing in the session listens on port 7860.'

const scenes: Scene[] = [
  { name: 'sign-in', path: '/sign-in', world: { signedIn: false } },
  {
    name: 'sign-in-wrong',
    path: '/sign-in',
    world: { signedIn: false, failures: new Map([['POST /api/v1/auth/login', { code: 'login_failed' }]]) },
    async act(page) {
      await page.getByLabel('E-mail address').fill('mira@example.com')
      await page.getByLabel('Password', { exact: true }).fill('not-this-1')
      await button(page, 'Sign in').click()
      await page.getByText('Wrong e-mail address or password').waitFor()
    },
  },
  {
    name: 'sign-in-code',
    path: '/sign-in',
    world: {
      signedIn: false,
      authOptions: { signUp: 'open' },
      failures: new Map([['POST /api/v1/auth/login', { code: 'totp_required' }]]),
    },
    async act(page) {
      await page.getByLabel('E-mail address').fill('mira@example.com')
      await page.getByLabel('Password', { exact: true }).fill('Right-one-1')
      await button(page, 'Sign in').click()
      await page.getByLabel('Code from your authenticator app').waitFor()
    },
  },
  {
    name: 'sign-in-unverified',
    path: '/sign-in',
    world: {
      signedIn: false,
      authOptions: { signUp: 'open' },
      failures: new Map([['POST /api/v1/auth/login', { code: 'email_unverified' }]]),
    },
    async act(page) {
      await page.getByLabel('E-mail address').fill('mira@example.com')
      await page.getByLabel('Password', { exact: true }).fill('Right-one-1')
      await button(page, 'Sign in').click()
      await button(page, 'Send the link again').waitFor()
    },
  },
  {
    name: 'sign-up',
    path: '/sign-up',
    world: { signedIn: false, authOptions: { signUp: 'invitation', termsUrl: 'https://example.org/terms' } },
    async act(page) {
      await page.getByLabel('Invitation').waitFor()
      await button(page, 'Sign up').click()
      await page.getByText('Please accept the terms to continue').waitFor()
    },
  },
  {
    name: 'sign-up-done',
    path: '/sign-up?invitation=berth_aaaaaaaaaaaaaaaaaaaaaaaa',
    world: { signedIn: false, authOptions: { signUp: 'invitation' } },
    async act(page, double) {
      await page.getByLabel('E-mail address').fill('mira@example.com')
      await page.getByLabel('Name').fill('Mira Holm')
      await page.getByLabel('Password', { exact: true }).fill('Right-one-1')
      await page.getByLabel('Password again').fill('Right-one-1')
      await button(page, 'Sign up').click()
      await page.getByText('Check your mail').waitFor()
      expect(page.url()).not.toContain('berth_')
      expect(double.world.changes.at(-1)?.body).toMatchObject({ invitation: 'berth_aaaaaaaaaaaaaaaaaaaaaaaa' })
    },
  },
  {
    name: 'forgot-password',
    path: '/forgot-password',
    world: { signedIn: false },
    act: page => button(page, 'Send the link').waitFor(),
  },
  {
    name: 'reset-password',
    path: '/reset-password?token=berth_aaaaaaaaaaaaaaaaaaaaaaaa',
    world: { signedIn: false },
    act: page => page.getByLabel('New password again').waitFor(),
  },
  {
    name: 'reset-password-done',
    path: '/reset-password?token=berth_aaaaaaaaaaaaaaaaaaaaaaaa',
    world: { signedIn: false },
    async act(page, double) {
      await page.getByLabel('New password', { exact: true }).fill('Right-one-1')
      await page.getByLabel('New password again').fill('Right-one-1')
      await button(page, 'Set password').click()
      await page.getByText('Your password is set').waitFor()
      expect(page.url()).not.toContain('berth_')
      expect(double.world.changes.at(-1)?.body).toMatchObject({ token: 'berth_aaaaaaaaaaaaaaaaaaaaaaaa' })
    },
  },
  {
    name: 'verify',
    path: '/verify?token=berth_aaaaaaaaaaaaaaaaaaaaaaaa',
    world: { signedIn: false },
    act: page => button(page, 'Confirm and sign in').waitFor(),
  },
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
    path: '/sessions',
    world: { role: 'superadmin' },
    async act(page) {
      await page.getByLabel('Select train-resnet-50').click()
      await page.getByLabel('Select data-clean_up.v2').click({ modifiers: ['Shift'] })
      await page.getByText('3 selected').waitFor()
    },
  },
  {
    name: 'sessions-finished',
    path: '/sessions?list=finished',
    act: page => page.getByText('too-little-memory').waitFor(),
  },
  {
    name: 'sessions-empty',
    path: '/sessions',
    world: { sessions: [] },
    act: page => page.getByText('No sessions are running').waitFor(),
  },
  {
    name: 'sessions-loading',
    path: '/sessions',
    world: { holdLists: true },
    act: page => page.getByLabel('Loading sessions').waitFor(),
  },
  {
    name: 'sessions-failed',
    path: '/sessions',
    world: {
      failures: new Map([
        ['GET /api/v1/sessions', { code: 'unavailable', detail: { why: 'The database does not answer.' } }],
      ]),
    },
    act: page => page.getByText('The service is not ready').waitFor(),
  },
  {
    name: 'sessions-no-match',
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
    name: 'launch',
    path: '/sessions',
    async act(page) {
      await button(page, 'New session').click()
      await page.getByRole('heading', { name: 'Environment', exact: true }).waitFor()
    },
  },
  {
    name: 'launch-limits',
    path: '/sessions',
    world: { ...LIMITED, whatIf: oneGpuNow },
    async act(page) {
      await button(page, 'New session').click()
      await button(page, /^Medium/).click()
      await page.getByRole('textbox', { name: 'GPU', exact: true }).fill('2')
      await button(page, 'Use 1 GPU').waitFor()
      await page.getByText('2 sessions left').waitFor()
      await page.getByRole('heading', { name: 'Resources', exact: true }).scrollIntoViewIfNeeded()
      await page.locator('.launch-form').evaluate(form => form.scrollBy(0, 330))
    },
  },
  {
    name: 'launch-errors',
    path: '/sessions',
    async act(page) {
      await button(page, 'New session').click()
      await page.getByText('PyTorch 2.9 (CUDA 13)').click()
      await page.getByLabel('Name optional').fill('my session')
      await page.getByRole('textbox', { name: 'GPU', exact: true }).fill('3')
      await button(page, /^Environment variables/).click()
      await button(page, 'Add variable').click()
      await page.getByLabel('Name of variable 1').fill('LD_PRELOAD')
      await page.getByText('Is set by Berth itself').waitFor()
    },
  },
  {
    name: 'launch-batch',
    path: '/sessions',
    async act(page) {
      await button(page, 'New session').click()
      await page.getByText('Runs one command').click()
      await page.getByLabel('Startup command').fill('python3 train.py --epochs 40')
      await page.getByLabel(/Maximum lifetime/).fill('8h')
      await button(page, /^Environment variables/).click()
      await page.getByRole('combobox', { name: 'After these sessions' }).press('ArrowDown')
      await page.getByRole('option', { name: 'data-clean_up.v2' }).click()
      await page.keyboard.press('Escape')
      await page.getByText('ends 8 h after it started').waitFor()
      await page.locator('.launch-form').evaluate(form => form.scrollTo(0, form.scrollHeight))
    },
  },
  {
    name: 'launch-no-agent',
    path: '/sessions',
    world: {
      images: [],
      resources: { ...aWorld().resources, agents: { connected: 0, lost: 1 }, capacity: {}, occupied: {} },
    },
    async act(page) {
      await button(page, 'New session').click()
      await page.getByText('No environment can be launched').waitFor()
    },
  },
  {
    name: 'expired',
    path: '/sessions',
    async act(page, double) {
      await page.getByText('train-resnet-50').waitFor()
      double.world.signedIn = false
      double.drop()
      await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
    },
  },
  {
    name: 'change-password',
    path: '/sessions',
    async act(page) {
      await button(page, /Account of/).click()
      await page.getByText('Change password').click()
      await page.getByLabel('New password', { exact: true }).fill('onlyletters')
      await page.getByRole('heading', { name: 'Change password' }).waitFor()
    },
  },
  {
    name: 'sessions-many-owners',
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
    name: 'summary',
    path: '/summary',
    world: {
      ...LIMITED,
      invitations: [INVITATION],
      announcement: {
        text: 'The GPU hosts are down for maintenance on Saturday, 08:00 to 12:00.\nSessions on them end at 07:45.',
        level: 'warning',
      },
    },
    async act(page) {
      await page.evaluate(() => {
        const key = Object.keys(localStorage).find(name => name.startsWith('berth.visit.')) ?? ''
        localStorage.setItem(key, JSON.stringify({ since: null, seen: Date.now() - 20 * 3600_000 }))
        localStorage.setItem(
          'berth.launch',
          JSON.stringify({ image: 'berth/python:3.13', cpu: 2000, mem: 2 ** 32, shmem: 2 ** 28, gpu: 1 }),
        )
        // The page stores the visit when it goes: not this time.
        Storage.prototype.setItem = () => undefined
      })
      await page.reload()
      await page.getByText('Since your last visit').waitFor()
      await button(page, 'Launch with the last settings').waitFor()
      await page.getByText('8 of').or(page.getByText('2 of 2 hosts connected')).first().waitFor()
    },
  },
  {
    name: 'summary-empty',
    path: '/summary',
    world: { sessions: [] },
    act: page => page.getByText('No session is running').waitFor(),
  },
  {
    name: 'summary-failed',
    path: '/summary',
    world: {
      failures: new Map([
        ['GET /api/v1/sessions', { code: 'unavailable' }],
        ['GET /api/v1/usage', { code: 'unavailable' }],
      ]),
    },
    act: page => page.getByText('The service is not ready').first().waitFor(),
  },
  {
    name: 'project-menu',
    path: '/sessions',
    world: LIMITED,
    async act(page) {
      await button(page, /^Project: /).click()
      await page.getByText('Left: 4 CPU, 0 GPU').waitFor()
    },
  },
  {
    name: 'project-chosen',
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
    world: { history: HISTORY },
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
    act: page => page.locator('.chart-plot canvas').nth(4).waitFor(),
  },
  {
    name: 'session-charts-table',
    path: `/sessions/${aSession(7).id}?tab=charts`,
    world: { sessions: [aSession(7)], figures: figuresOf },
    async act(page) {
      await button(page, 'Show as table').click()
      await page.getByRole('cell', { name: 'KiB/s' }).first().waitFor()
    },
  },
  {
    name: 'sessions-failed',
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
    path: `/terminal/${aSession(7).id}`,
    world: { sessions: [aSession(7, OTHER)] },
    act: page => page.getByText('This session belongs to somebody else').waitFor(),
  },
  {
    name: 'apps-port',
    path: '/sessions',
    world: { failures: new Map([['POST /host/tunnel/openApp', { code: 'port_silent', detail: { why: NO_PROGRAM } }]]) },
    async act(page) {
      await page.locator('button[aria-label^="Apps of"]:enabled').first().click()
      await page.getByRole('textbox', { name: 'Port in the session' }).fill('7860')
      await button(page, 'Open port').click()
      await page.getByText(NO_PROGRAM).waitFor()
    },
  },
  { name: 'account', path: '/account', act: page => page.getByText('You have not added a key yet').waitFor() },
  {
    name: 'account-on',
    path: '/account',
    world: { totp: { enabled: true, recoveryCodesLeft: 2 }, sshKey: SSH_KEY, projects: LIMITED.projects ?? [] },
    act: page => page.getByText('Few recovery codes are left').waitFor(),
  },
  {
    name: 'account-failed',
    path: '/account',
    world: { failures: new Map([['GET /api/v1/me/totp', { code: 'unavailable' }]]) },
    act: page => page.getByText('The service is not ready').waitFor(),
  },
  {
    name: 'ssh-settings',
    path: '/account',
    world: { hostSettings: { preferredSshPort: 22_022, manageSshConfig: true } },
    async act(page) {
      await page.getByLabel('Preferred SSH port').fill('80')
      await button(page, 'Save').click()
      await page.getByText('Enter a number from 1024 to 65535').waitFor()
      await page.mouse.wheel(0, 4000)
    },
  },
  {
    name: 'second-factor-secret',
    path: '/account',
    async act(page) {
      await button(page, 'Set up').click()
      await page.getByLabel('Current password').fill('Right-one-1')
      await button(page, 'Continue').click()
      await page.getByLabel(/^Code from/).fill('000000')
      await button(page, 'Switch on').click()
      await page.getByText('The code is wrong or expired').waitFor()
    },
  },
  {
    name: 'recovery-codes',
    path: '/account',
    async act(page) {
      await button(page, 'Set up').click()
      await page.getByLabel('Current password').fill('Right-one-1')
      await button(page, 'Continue').click()
      await page.getByLabel(/^Code from/).fill(TOTP_CODE)
      await button(page, 'Switch on').click()
      await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
    },
  },
  ...FILE_SCENES,
  ...FOLDER_SCENES,
  { name: 'not-found', path: '/nowhere', act: page => page.getByText('Page not found').waitFor() },
]

async function open(scene: Scene, url: string) {
  const context = await browser.newContext({
    viewport: SIZES.small,
    colorScheme: 'light',
    reducedMotion: 'reduce',
    locale: 'en-GB',
  })
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => {
    // A failed request is part of some scenes; a refused script, style or warning never is.
    if (message.type() === 'error' && !message.text().includes('Failed to load resource')) problems.push(message.text())
    if (message.text().includes('[Vue')) problems.push(message.text())
  })
  await loadPage(page, `${url}/#${scene.path}`)
  return { page, problems, [Symbol.asyncDispose]: () => context.close() }
}

/** The page hears of its new size with one of the next frames: tells what does not fit even after a moment. */
async function lastingMisfits(page: Page): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    const found = await misfits(page)
    if (found.length === 0 || attempt === 20) return found
    await page.waitForTimeout(50)
  }
}

// One page for all that is asked of a scene: axe looks at it once per theme, for contrast and names are the same at every width; the
// other sizes are only asked whether all fits. Scenes are looked at side by side, each in a context of its own.
test.concurrent.each(scenes)('$name is readable in both themes and fits into every window', async scene => {
  await using double = await startConsoleDouble(aWorld(scene.world))
  await using opened = await open(scene, double.url)
  const { page, problems } = opened
  const picture = (window: string, theme: string) =>
    page.screenshot({ path: `${OUTPUT}${scene.name}-${window}-${theme}.png` })
  await page.locator('h1, h2').first().waitFor()
  await scene.act?.(page, double)
  const violations = await audit(page, theme => picture('1280', theme))
  const outside: string[] = []
  const place = page.url()
  for (const [window, size] of [['1920', SIZES.large] as const, ...Object.entries(NARROW)]) {
    await page.setViewportSize(size)
    await settle(page)
    const found = await lastingMisfits(page)
    outside.push(...found.map(misfit => `at ${window} px: ${misfit}`))
    if (window === PICTURED || found.length > 0) await picture(window, 'light')
  }
  // Another size of the window closes nothing that somebody reads.
  expect(page.url()).toBe(place)
  expect({ violations, outside, problems }).toEqual({ violations: [], outside: [], problems: [] })
})
