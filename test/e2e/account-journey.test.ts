import { readFile } from 'node:fs/promises'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Berth, startBerth } from '../fixtures/berth.ts'
import { launchBrowser, visit, type Visitor } from '../fixtures/browser.ts'
import { type SmtpServer, startSmtpServer } from '../fixtures/smtp-server.ts'
import {
  button,
  leaveDialog,
  openLaunchDialog,
  openTerminal,
  rowOf,
  screen,
  signIn,
  typeLine,
} from './console-steps.ts'

/**
 * The first days of somebody who signs up: a real Chromium, the whole of Berth, real mail, a real container. The tests of this file
 * build on each other and run in their order.
 */
const MIRA = 'mira@example.org'
const [CHOSEN, RESET, CHANGED] = ['Mira-chose-this-1', 'Mira-forgot-that-2', 'Mira-changed-it-3']
const SESSION = 'miras-first'
const SOON = { timeout: 120_000 }

let berth: Berth
let smtp: SmtpServer
let browser: Browser
/** Mira at her desk, with one tab. */
let mira: Visitor
let page: Page
/** Mira with another browser. */
let phone: Visitor
beforeAll(async () => {
  smtp = await startSmtpServer()
  berth = await startBerth()
  const admin = await berth.api()
  const mail = {
    smtpHost: 'localhost',
    smtpPort: smtp.port,
    smtpSecurity: 'none',
    smtpFrom: 'berth@example.org',
  } as const
  await admin.updateSettings({
    body: {
      ...mail,
      allowSignUp: 'open',
      requireEmailVerification: true,
      signUpDomain: 'default',
      publicUrl: berth.url,
    },
  })
  browser = await launchBrowser()
  mira = await visit(browser, berth.url)
  phone = await visit(browser, berth.url)
})
afterAll(async () => {
  await browser.close()
  await berth[Symbol.asyncDispose]()
  await smtp[Symbol.asyncDispose]()
})
afterEach(() => {
  expect([...mira.problems.splice(0), ...phone.problems.splice(0)]).toEqual([])
})

async function mailedLink(kind: 'verify' | 'reset-password'): Promise<string> {
  const pattern = new RegExp(`http\\S+#/${kind}\\?token=\\S+`)
  await expect.poll(() => smtp.mailTo(MIRA, pattern), SOON).toBeDefined()
  return pattern.exec(smtp.mailTo(MIRA, pattern)?.text ?? '')?.[0] ?? ''
}
const heading = (tab: Page, name: string) => tab.getByRole('heading', { name, level: 1 })

test('a stranger signs up, opens the link of the mail, and is signed in with the chosen password', async () => {
  page = await mira.openTab('/sign-in')
  await page.getByRole('link', { name: 'Sign up' }).click()
  // The field of the address is on both pages.
  await heading(page, 'Sign up for Berth').waitFor()
  await page.getByLabel('E-mail address').fill(MIRA)
  await page.getByLabel('Name').fill('Mira Holm')
  await page.getByLabel('Password', { exact: true }).fill(CHOSEN)
  await page.getByLabel('Password again').fill(CHOSEN)
  await button(page, 'Sign up').click()
  await page.getByText('Check your mail').waitFor()

  await page.goto(await mailedLink('verify'))
  await page.getByLabel('Password', { exact: true }).fill(CHOSEN)
  await button(page, 'Confirm and sign in').click()
  await page.getByRole('heading', { name: 'Start' }).waitFor()
  expect(page.url()).not.toContain('token')
})

test('a forgotten password is set by the link of a mail; the page of the desk goes on with the new one', async () => {
  const forgotten = await phone.openTab('/sign-in')
  await forgotten.getByRole('link', { name: 'Forgot your password?' }).click()
  await button(forgotten, 'Send the link').waitFor()
  await forgotten.getByLabel('E-mail address').fill(MIRA)
  await button(forgotten, 'Send the link').click()
  await forgotten.getByText('Check your mail').waitFor()
  await forgotten.goto(await mailedLink('reset-password'))
  await forgotten.getByLabel('New password', { exact: true }).fill(RESET)
  await forgotten.getByLabel('New password again').fill(RESET)
  await button(forgotten, 'Set password').click()
  await forgotten.getByText('Your password is set').waitFor()
  await forgotten.close()

  const again = page.getByRole('dialog')
  await again.getByText('Sign in again').first().waitFor(SOON)
  await again.getByLabel('Password', { exact: true }).fill(RESET)
  await again.getByRole('button', { name: 'Continue', exact: true }).click()
  await again.waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: 'Start' }).waitFor()
  // The sign-in at the desk has ended, so its stream of events was refused once.
  expect(mira.problems.splice(0)).toEqual([expect.stringMatching(/401 .*\/api\/v1\/events$/)])
})

test('the password is changed on the page of the account: the one before is refused elsewhere, the new one accepted', async () => {
  await button(page, /Account of/).click()
  await page.getByText('Your account').click()
  await button(page, 'Change password').click()
  await page.getByLabel('Current password').fill(RESET)
  await page.getByLabel('New password', { exact: true }).fill(CHANGED)
  await page.getByLabel('New password again').fill(CHANGED)
  await page.keyboard.press('Enter')
  await page.getByText('Password changed').waitFor()

  const elsewhere = await phone.openTab('/sessions')
  await signIn(elsewhere, MIRA, RESET)
  await elsewhere.getByText('Wrong e-mail address or password').waitFor()
  await signIn(elsewhere, MIRA, CHANGED)
  await heading(elsewhere, 'Sessions').waitFor()
  await elsewhere.close()
})

test('a session of the chosen project has her SSH key, and her folders whose names begin with a dot', async () => {
  await button(page, 'Generate a new key').click()
  const saving = page.waitForEvent('download')
  await button(page, 'Generate and save').click()
  expect(await readFile(await (await saving).path(), 'utf8')).toContain('PRIVATE KEY')
  await page.getByText(/SHA256:/).waitFor()

  const admin = await berth.api()
  const { items } = await admin.listUsers({ query: { search: MIRA } })
  const project = await admin.createGroup({ body: { name: 'vision', domain: 'default' } })
  await admin.addGroupMember({ params: { id: project.id, userId: items[0]!.id } })

  await page.getByRole('link', { name: 'Data & Storage', exact: true }).first().click()
  for (const name of ['.local', '.ssh']) {
    await button(page, 'New folder').click()
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.keyboard.press('Enter')
    await page.getByText(`Created ${name}.`).waitFor()
  }
  await page.getByRole('link', { name: 'Sessions', exact: true }).click()
  // The page is loaded only now; a reload before that would return to the folders.
  await heading(page, 'Sessions').waitFor(SOON)
  await page.reload()
  await choose('vision')
  await openLaunchDialog(page)
  await page.getByLabel('Name optional').fill(SESSION)
  await button(page, /^Launch$/).click()
  await rowOf(page, SESSION).getByText('Running', { exact: true }).waitFor({ timeout: 120_000 })

  const terminal = await openTerminal(page, SESSION)
  // The shell computes the numbers, so the typed line does not contain its output.
  await typeLine(terminal, 'for d in .local .ssh; do mountpoint -q ~/$d && echo "$d is mounted $((40+2))"; done')
  await typeLine(terminal, 'echo "kept $((40+3))" > ~/.local/note; echo "keys: $(wc -l < /run/berth/authorized_keys)."')
  await screen(terminal)
    .filter({ hasText: '.local is mounted 42' })
    .filter({ hasText: '.ssh is mounted 42' })
    .filter({ hasText: 'keys: 2.' })
    .waitFor(SOON)
  await terminal.close()
})

test('the list follows the project selector, and shows all projects again', async () => {
  await choose('default')
  await rowOf(page, SESSION).waitFor({ state: 'detached' })
  await choose('All projects')
  await rowOf(page, SESSION).waitFor()
})

test('an invitation comes by mail and is declined, the next one is accepted, and the folder is left again', async () => {
  const jonas = await berth.user('jonas@example.org')
  await using guest = await visit(browser, berth.url)
  const his = await guest.openTab('/data')
  await signIn(his, jonas.email, jonas.password)
  await his.getByText('You have no folder yet').waitFor(SOON)

  await page.getByRole('link', { name: 'Data & Storage', exact: true }).first().click()
  await button(page, 'New folder').click()
  await page.getByLabel('Name', { exact: true }).fill('datasets')
  await page.keyboard.press('Enter')
  await button(page, 'Share datasets').click()
  const invite = async () => {
    await page.getByLabel('E-mail address').fill(jonas.email)
    await button(page, 'Invite').click()
    await page.getByText('Invited, not accepted yet').waitFor()
  }
  await invite()
  await expect.poll(() => smtp.mailTo(jonas.email)?.text, SOON).toContain(`${MIRA} invites you to share a folder`)
  await his.getByRole('tab', { name: /^Invitations/ }).click()
  await button(his, 'Decline the invitation to datasets').click()
  await page.getByText('Invited, not accepted yet').waitFor({ state: 'detached', ...SOON })
  await page.getByText('Nobody else has access.').waitFor()

  await invite()
  await button(his, 'Accept the invitation to datasets').click()
  await his.getByRole('tab', { name: /^Folders/ }).click()
  await button(his, 'Leave datasets').click()
  await his.getByRole('alertdialog').getByRole('button', { name: 'Leave' }).click()
  await his.getByText('You have no folder yet').waitFor(SOON)
  await page.getByText('Nobody else has access.').waitFor(SOON)
  await leaveDialog(page, /^Share/)
  expect(guest.problems).toEqual([])
})

async function choose(project: string): Promise<void> {
  await page.getByRole('button', { name: /^Project: / }).click()
  await page
    .getByRole('listitem')
    .filter({ hasText: project })
    .or(page.getByRole('option', { name: project }))
    .first()
    .click()
}
