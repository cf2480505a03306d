import { A_TOKEN, aKeypair, NEWS, SSH_KEY, TOTP_CODE, WAITING } from './console-double-account.ts'
import { LIMITED } from './console-world.ts'
import { button, type Scene } from './scene.ts'

/** The page of the account, and the dialogs about the sign-in. */
export const ACCOUNT_SCENES: readonly Scene[] = [
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
  { name: 'account', path: '/account', act: page => page.getByText('You have not added a key yet').waitFor() },
  {
    name: 'account-keypair-waits',
    alike: true,
    path: '/account',
    world: { keypairs: [aKeypair(0), WAITING] },
    act: page => page.getByText('Made for you by chief@example.com').scrollIntoViewIfNeeded(),
  },
  {
    name: 'account-tokens',
    alike: true,
    path: '/account',
    world: { tokens: [A_TOKEN] },
    async act(page) {
      await button(page, 'New access token').click()
      await page.getByLabel('launch sessions').check()
      await page.getByLabel('Name').fill('Nightly evaluation')
    },
  },
  {
    name: 'account-on',
    alike: true,
    path: '/account',
    world: { totp: { enabled: true, recoveryCodesLeft: 2 }, sshKey: SSH_KEY, projects: LIMITED.projects ?? [] },
    act: page => page.getByText('Few recovery codes are left').waitFor(),
  },
  {
    name: 'account-news',
    path: '/account',
    world: { accountNews: NEWS },
    async act(page) {
      await page.getByText('A password was set with a link').scrollIntoViewIfNeeded()
      await button(page, 'Show earlier').click()
      await page.getByText('gave you another role').scrollIntoViewIfNeeded()
    },
  },
  {
    name: 'account-identities',
    path: '/account',
    world: {
      authOptions: { providers: [{ id: 'lab', name: 'Example Lab', kind: 'oidc' }] },
      identities: [
        {
          issuer: 'https://id.example.org',
          subject: '8f14e45f',
          email: 'mira.holm@university.example.org',
          createdAt: '2026-09-01T08:00:00Z',
          lastUsedAt: '2026-11-20T08:00:00Z',
          provider: 'University',
        },
      ],
    },
    async act(page) {
      await button(page, 'Link Example Lab').click()
      await page.getByLabel('Current password').fill('Right-one-1')
    },
  },
  {
    name: 'account-failed',
    alike: true,
    path: '/account',
    world: { failures: new Map([['GET /api/v1/me/totp', { code: 'unavailable' }]]) },
    act: page => page.getByText('Berth is not available right now').waitFor(),
  },
  {
    name: 'ssh-settings',
    path: '/preferences',
    world: { hostSettings: { preferredSshPort: 22_022, manageSshConfig: true } },
    async act(page) {
      await page.getByLabel('Preferred SSH port').fill('80')
      await button(page, 'Save').click()
      await page.getByText('Enter a number from 1024 to 65535').waitFor()
      await page
        .getByText('Enter a number from 1024 to 65535')
        .evaluate(fault => fault.scrollIntoView({ block: 'center' }))
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
]
