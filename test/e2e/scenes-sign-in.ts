import { expect } from 'vitest'
import { button, type Scene } from './scene.ts'

/** Signing in and up, and the pages behind links of mails. */
export const SIGN_IN_SCENES: readonly Scene[] = [
  { name: 'sign-in', path: '/sign-in', world: { signedIn: false } },
  {
    name: 'sign-in-providers',
    path: '/sign-in',
    world: { signedIn: false, authOptions: { providers: [{ id: 'lab', name: 'Example Lab', kind: 'oidc' }] } },
    async act(page) {
      await button(page, 'Sign in with Example Lab').waitFor()
    },
  },
  {
    name: 'sign-in-directory',
    alike: true,
    path: '/sign-in',
    world: {
      signedIn: false,
      authOptions: { providers: [{ id: 'campus', name: 'Campus', kind: 'ldap' }], passwordSignIn: 'superadmins' },
    },
    async act(page) {
      await page.getByText('Berth passes the password on to Campus').waitFor()
    },
  },
  {
    name: 'sign-in-provider-code',
    alike: true,
    path: `/sign-in-code?code=berth_${'a'.repeat(43)}`,
    world: { signedIn: false },
    async act(page) {
      await page.getByText('Give it to nobody').waitFor()
    },
  },
  {
    name: 'sign-in-program',
    alike: true,
    path: `/sign-in-code?code=berth_${'a'.repeat(43)}&port=43210&word=BCDF-GHJK&name=mira%40example.org`,
    world: { signedIn: false },
    async act(page) {
      await page.getByText('BCDF-GHJK').waitFor()
    },
  },
  {
    name: 'sign-in-wrong',
    alike: true,
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
    name: 'sign-in-new-password',
    path: '/sign-in',
    world: {
      signedIn: false,
      failures: new Map([['POST /api/v1/auth/login', { code: 'password_change_required' }]]),
    },
    async act(page) {
      await page.getByLabel('E-mail address').fill('mira@example.com')
      await page.getByLabel('Password', { exact: true }).fill('Given-one-1')
      await button(page, 'Sign in').click()
      await page.getByText('wants you to choose another password').waitFor()
    },
  },
  {
    name: 'sign-in-unverified',
    alike: true,
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
    alike: true,
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
    name: 'sign-up-request',
    alike: true,
    path: '/sign-up',
    world: {
      signedIn: false,
      authOptions: {
        signUp: 'request',
        signUpEmailDomains: 'example.com, example.org',
        signUpNote: 'Accounts are for members of the department and their guests.',
        termsUrl: 'https://example.org/terms',
      },
    },
    async act(page) {
      await page.getByLabel('What you need the account for').fill('Speech recognition')
      await button(page, 'Send the request').click()
      await page.getByText('Please accept the terms to continue').waitFor()
    },
  },
  {
    name: 'sign-up-request-done',
    alike: true,
    path: '/sign-up',
    world: { signedIn: false, authOptions: { signUp: 'request' } },
    async act(page, double) {
      await page.getByLabel('E-mail address').fill('mira@example.com')
      await page.getByLabel('Name').fill('Mira Holm')
      await button(page, 'Send the request').click()
      await page.getByText('Check your mail').waitFor()
      expect(double.world.changes.at(-1)?.body).toEqual({ email: 'mira@example.com', name: 'Mira Holm', note: '' })
    },
  },
  {
    name: 'sign-up-request-confirmed',
    alike: true,
    path: '/sign-up?request=berth_aaaaaaaaaaaaaaaaaaaaaaaa',
    world: { signedIn: false, authOptions: { signUp: 'request' } },
    async act(page, double) {
      await button(page, 'Send the request').click()
      await page.getByText('Your request is on its way').waitFor()
      expect(page.url()).not.toContain('berth_')
      expect(double.world.changes.at(-1)?.body).toEqual({ token: 'berth_aaaaaaaaaaaaaaaaaaaaaaaa' })
    },
  },
  {
    name: 'forgot-password',
    alike: true,
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
    alike: true,
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
]
