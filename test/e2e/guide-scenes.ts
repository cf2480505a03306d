import { NO_ANNOUNCEMENT } from '#manager/contract'
import { aKeypair, OTHER_LOGIN, THIS_LOGIN } from './console-double-account.ts'
import { aSession, figuresOf, HISTORY, INVITATION, LIMITED } from './console-world.ts'
import { button, type Scene } from './scene.ts'
import { ACCOUNT_SCENES } from './scenes-account.ts'
import { ADMIN_SCENES } from './scenes-admin.ts'
import { APP_SCENES } from './scenes-apps.ts'
import { FILE_SCENES } from './scenes-files.ts'
import { FOLDER_SCENES } from './scenes-folders.ts'
import { LAUNCH_SCENES } from './scenes-launch.ts'
import { PREFERENCE_SCENES } from './scenes-preferences.ts'
import { SESSION_SCENES } from './scenes-sessions.ts'
import { SHARING_SCENES } from './scenes-sharing.ts'
import { SIGN_IN_SCENES } from './scenes-sign-in.ts'

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

/** Scenes for pictures only, and scenes that look better with more data. */
const OWN: readonly Scene[] = [
  { name: 'sign-in-key', path: '/sign-in?with=key', world: { signedIn: false } },
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
    name: 'session-details',
    path: `/sessions/${aSession(7).id}?tab=details`,
    world: { sessions: [aSession(7, { name: 'train-resnet-50' })] },
    act: page => page.getByRole('heading', { name: 'Identity' }).waitFor(),
  },
  {
    name: 'session-charts',
    path: `/sessions/${aSession(7).id}?tab=charts&range=24h`,
    world: { sessions: [aSession(7, { name: 'train-resnet-50' })], figures: figuresOf },
    act: page => page.locator('.chart-plot canvas').nth(4).waitFor(),
  },
  {
    name: 'project-menu',
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
      await page.getByRole('tab', { name: 'Ports and links' }).waitFor()
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
  { name: 'preferences', path: '/preferences', act: page => page.getByLabel('Any free port').waitFor() },
  {
    name: 'start',
    path: '/preferences',
    world: { dotfiles: DOTFILES, bootstrapScript: { script: 'pip install --user rich\n', changedAt: CHANGED_AT } },
    act: page => button(page, 'New dotfile').scrollIntoViewIfNeeded(),
  },
  {
    name: 'dotfile',
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
/** Scenes that the tests check. */
export const SCENES_OF_TESTS: readonly Scene[] = [
  ...SIGN_IN_SCENES,
  ...LAUNCH_SCENES,
  ...ACCOUNT_SCENES,
  ...PREFERENCE_SCENES,
  ...FILE_SCENES,
  ...FOLDER_SCENES,
  ...APP_SCENES,
  ...ADMIN_SCENES,
  ...SESSION_SCENES,
  ...SHARING_SCENES,
]
/** All scenes; if there are several of a name, the first is used for pictures. */
export const SCENES: readonly Scene[] = [...OWN, ...SCENES_OF_TESTS]
