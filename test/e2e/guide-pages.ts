/**
 * Makes the pictures of docs/guide/pages.md: pages and dialogs of the console in both languages and both themes, with made-up data.
 * `npm run build`, then `node test/e2e/guide-pages.ts [NAME…]`. The pictures of the other chapters come from a running Berth
 * (`screenshots.ts`). Korean needs a font with Hangul on this computer.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Page } from 'playwright-core'
import { NO_ANNOUNCEMENT } from '#manager/contract'
import { root } from '../fixtures/berth.ts'
import { inBothSchemes, launchBrowser, loadPage, settle, SIZES, withoutGutter } from '../fixtures/browser.ts'
import { startConsoleDouble } from './console-double.ts'
import { aKeypair, OTHER_LOGIN, THIS_LOGIN } from './console-double-account.ts'
import { aSession, aWorld, figuresOf, HISTORY, INVITATION, LIMITED } from './console-world.ts'
import { button, type Scene } from './scene.ts'
import { ACCOUNT_SCENES } from './scenes-account.ts'
import { ADMIN_SCENES } from './scenes-admin.ts'
import { APP_SCENES } from './scenes-apps.ts'
import { FILE_SCENES } from './scenes-files.ts'
import { FOLDER_SCENES } from './scenes-folders.ts'
import { LAUNCH_SCENES } from './scenes-launch.ts'
import { SESSION_SCENES } from './scenes-sessions.ts'
import { SHARING_SCENES } from './scenes-sharing.ts'
import { SIGN_IN_SCENES } from './scenes-sign-in.ts'

/** Chapters of docs/guide/pages.md, and the scenes in them, which the tests look at, or which are made here. */
const CHAPTERS: Readonly<Record<string, readonly string[]>> = {
  'Signing in': [
    'sign-in',
    'sign-in-code',
    'sign-in-with-key',
    'sign-in-providers',
    'sign-up',
    'sign-up-request',
    'verify',
    'forgot-password',
    'reset-password',
    'expired',
  ],
  'Summary and sessions': [
    'summary',
    'sessions',
    'sessions-finished',
    'details',
    'charts',
    'terminate',
    'usage',
    'projects',
    'session-labels-edit',
    'session-image',
    'session-share-dialog',
    'session-shared-with-me',
    'logs-columns',
    'apps',
    'apps-tensorboard',
    'apps-options',
    'apps-open-to-public',
    'apps-viewer',
  ],
  Launching: [
    'launch',
    'launch-limits',
    'launch-batch',
    'launch-sections',
    'launch-templates',
    'launch-import',
    'launch-opens',
    'launch-variables',
    'launch-folders',
  ],
  'Data & Storage': [
    'folders',
    'folders-create',
    'folders-share',
    'folders-invitations',
    'folders-trash',
    'folders-delete',
    'folders-sftp',
    'folders-clone',
    'folders-leave',
    'folders-move-to-trash',
  ],
  'Files of a folder': [
    'files',
    'files-menu',
    'files-search',
    'files-conflict',
    'files-uploads',
    'files-preview-text',
    'files-preview-table',
    'files-selected',
    'files-move',
    'files-unfinished',
  ],
  'Account and preferences': [
    'account',
    'account-identities',
    'account-links',
    'change-password',
    'second-factor-secret',
    'recovery-codes',
    'sign-ins',
    'settings',
    'start',
    'edit-dotfile',
  ],
  Everywhere: ['statistics', 'tunnels', 'palette', 'shortcuts', 'information', 'not-found'],
  'Administration: the cluster': [
    'admin-overview',
    'admin-sessions',
    'admin-queue',
    'admin-usage',
    'admin-month',
    'admin-agents',
    'admin-agent',
    'admin-join',
    'admin-groups',
    'admin-group-edit',
    'admin-images',
    'admin-clean-up',
    'admin-registries',
  ],
  'Administration: people and limits': [
    'admin-users',
    'admin-users-import',
    'admin-user',
    'admin-invitations',
    'admin-credentials',
    'admin-projects',
    'admin-domains',
    'admin-policies',
    'admin-policy-edit',
    'admin-presets',
  ],
  'Administration: the system': [
    'admin-settings',
    'admin-settings-announcement',
    'admin-sign-in-providers',
    'admin-audit',
    'admin-maintenance',
    'admin-diagnostics',
    'admin-about',
  ],
}

const CHANGED_AT = '2026-11-01T09:00:00.000Z'
const BASHRC = `# Short names for what I do most.
alias ll="ls -lh"
alias gpu="nvidia-smi --query-gpu=utilization.gpu,memory.used --format=csv"

export HF_HOME=~/datasets/huggingface
`
const DOTFILES = [
  { path: '.bashrc', content: BASHRC, mode: '644', changedAt: CHANGED_AT },
  { path: '.config/git/config', content: '[user]\n  name = Mira Holm\n', mode: '644', changedAt: CHANGED_AT },
  { path: '.netrc', content: 'machine example.org\n', mode: '600', changedAt: CHANGED_AT },
]

const OWN: readonly Scene[] = [
  { name: 'sign-in-with-key', path: '/sign-in?with=key', world: { signedIn: false } },
  {
    name: 'summary',
    path: '/summary',
    world: {
      ...LIMITED,
      invitations: [INVITATION],
      announcement: {
        ...NO_ANNOUNCEMENT,
        id: 'maintenance',
        text: 'The GPU hosts are down for **maintenance** on Saturday, 08:00 to 12:00. Sessions on them end at 07:45.',
        level: 'warning',
      },
    },
    async act(page) {
      await page.getByText('2 of 2 hosts connected').waitFor()
      await page.getByText('on Saturday, 08:00 to 12:00').waitFor()
    },
  },
  {
    name: 'sessions',
    path: '/sessions',
    async act(page, { world, emit }) {
      await page.getByText('train-resnet-50').waitFor()
      for (const { id, stats } of world.sessions) if (stats) emit('stats', { sessionId: id, stats })
    },
  },
  {
    name: 'sessions-finished',
    path: '/sessions?list=finished',
    act: page => page.getByText('too-little-memory').waitFor(),
  },
  {
    name: 'details',
    path: `/sessions/${aSession(7).id}?tab=details`,
    world: { sessions: [aSession(7, { name: 'train-resnet-50' })] },
    act: page => page.getByRole('heading', { name: 'Identity' }).waitFor(),
  },
  {
    name: 'charts',
    path: `/sessions/${aSession(7).id}?tab=charts&range=24h`,
    world: { sessions: [aSession(7, { name: 'train-resnet-50' })], figures: figuresOf },
    act: page => page.locator('.chart-plot canvas').nth(4).waitFor(),
  },
  {
    name: 'projects',
    path: '/sessions',
    world: LIMITED,
    async act(page) {
      await button(page, /^Project: /).click()
      await page
        .getByText(/^Free now: /)
        .first()
        .waitFor()
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
    name: 'usage',
    path: '/sessions',
    async act(page) {
      await button(page, /^Usage and limits/).click()
      await page.getByText('Project vision').waitFor()
    },
  },
  {
    name: 'apps',
    path: '/sessions',
    async act(page) {
      await page.locator('button[aria-label^="Apps of"]:enabled').first().click()
      await page.getByRole('textbox', { name: 'Port in the session' }).waitFor()
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
    name: 'shortcuts',
    path: '/summary',
    async act(page) {
      await page.getByRole('heading', { name: 'Active sessions' }).waitFor()
      await page.keyboard.press('?')
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'information',
    path: '/information',
    act: page =>
      page
        .getByText(/Works, \d+ ms/)
        .first()
        .waitFor(),
  },
  { name: 'settings', path: '/preferences', act: page => page.getByLabel('Any free port').waitFor() },
  {
    name: 'start',
    path: '/preferences',
    world: { dotfiles: DOTFILES, bootstrapScript: { script: 'pip install --user rich\n', changedAt: CHANGED_AT } },
    act: page => button(page, 'New dotfile').scrollIntoViewIfNeeded(),
  },
  {
    name: 'edit-dotfile',
    path: '/preferences',
    world: { dotfiles: DOTFILES },
    async act(page) {
      await button(page, 'Edit .bashrc').click()
      await page.getByRole('dialog').locator('.cm-content').waitFor()
    },
  },
  {
    name: 'sign-ins',
    path: '/account',
    world: { logins: [THIS_LOGIN, OTHER_LOGIN], keypairs: [aKeypair(0)] },
    async act(page) {
      await button(page, 'End all others').scrollIntoViewIfNeeded()
    },
  },
]
const SCENES: readonly Scene[] = [
  ...OWN,
  ...SIGN_IN_SCENES,
  ...LAUNCH_SCENES,
  ...ACCOUNT_SCENES,
  ...FILE_SCENES,
  ...FOLDER_SCENES,
  ...APP_SCENES,
  ...ADMIN_SCENES,
  ...SESSION_SCENES,
  ...SHARING_SCENES,
]

const folder = join(root, 'docs/guide/pages')
const QUALITY = 82

/** The page as WebP, which a picture of a page needs a third of the bytes for. */
async function picture(page: Page, path: string): Promise<void> {
  const client = await page.context().newCDPSession(page)
  const { data } = await client.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
  await client.detach()
  await writeFile(path, Buffer.from(data, 'base64'))
}

/** Changes the language as another tab would: the page follows without a reload, and dialogs stay open. */
async function speak(page: Page, language: 'en' | 'ko'): Promise<void> {
  await page.evaluate(next => {
    localStorage.setItem('berth.language', next)
    dispatchEvent(new StorageEvent('storage', { key: 'berth.language', newValue: next }))
  }, language)
  await page.waitForFunction(next => document.documentElement.lang === next, language)
}

/** Pictures of the desktop app, which `test/desktop/guide-windows.ts` makes. */
const DESKTOP = ['start', 'console', 'terminal', 'tray', 'quit'].map(name => `desktop-${name}`)

const wanted = process.argv.slice(2)
const names = Object.values(CHAPTERS)
  .flat()
  .filter(name => wanted.length === 0 || wanted.includes(name))
await mkdir(folder, { recursive: true })
const browser = await launchBrowser()
try {
  for (const name of names) {
    const scene = SCENES.find(one => one.name === name)
    if (!scene) throw new Error(`there is no scene "${name}"`)
    await using double = await startConsoleDouble(aWorld(scene.world))
    const context = await browser.newContext({ viewport: SIZES.small, reducedMotion: 'reduce', locale: 'en-GB' })
    const page = await context.newPage()
    await loadPage(page, `${double.url}/#${scene.path}`)
    await page.locator('h1, h2').first().waitFor()
    await scene.act?.(page, double)
    await page.mouse.move(0, 0)
    for (const dismiss of await page.locator('.notification').getByRole('button', { name: 'Dismiss' }).all())
      await dismiss.click()
    for (const language of ['en', 'ko'] as const) {
      await speak(page, language)
      await withoutGutter(page)
      await inBothSchemes(page, async theme => {
        await settle(page)
        await picture(page, join(folder, `${name}-${language}-${theme}.webp`))
      })
    }
    await context.close()
    console.log(name)
  }
} finally {
  await browser.close()
}
if (wanted.length === 0) {
  const chapters = Object.entries({ ...CHAPTERS, 'The desktop app': DESKTOP }).map(([title, scenes]) => {
    const pictures = scenes.map(name => {
      const link = (language: string, theme: string) => `pages/${name}-${language}-${theme}.webp`
      const more = `[dark](${link('en', 'dark')}) · [한국어](${link('ko', 'light')}) · [한국어, 어두운 테마](${link('ko', 'dark')})`
      return `![${name.replaceAll('-', ' ')}](${link('en', 'light')})\n\n${more}\n`
    })
    return `## ${title}\n\n${pictures.join('\n')}`
  })
  const head = `# Every page and dialog\n\nMade by \`node test/e2e/guide-pages.ts\` and \`node test/desktop/guide-windows.ts\`, with made-up data. The [guide](README.md) explains them.\n`
  await writeFile(join(root, 'docs/guide/pages.md'), `${head}\n${chapters.join('\n')}`)
}
