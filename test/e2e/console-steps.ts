import { type Locator, type Page } from 'playwright-core'
import { execute, root } from '../fixtures/berth.ts'

/** Steps of people in the console, by its labels. */
export const button = (page: Page | Locator, name: string | RegExp): Locator => page.getByRole('button', { name })
export const rowOf = (page: Page, session: string): Locator => page.locator('tr.row', { hasText: session })
/** Names of the sessions in the list, from the top. */
export const rowNames = (page: Page): Promise<string[]> => page.locator('tr.row .name').allTextContents()

export async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** A second `berth up` on the same data directory prints links of its own. */
async function linkOf(data: string, pattern: RegExp): Promise<string> {
  const { stdout } = await execute([`${root}/bin/berth`, 'up', '--data', data, '--no-open'], process.env)
  const link = pattern.exec(stdout)?.[0]
  if (!link) throw new Error(`no link in: ${stdout}`)
  return link
}

/** The link that signs in, and proves that the browser runs on this computer. */
export const signInLink = (data: string) => linkOf(data, /http:\S+#\/sign-in\?ticket=\S+/)

/** Lets a signed-in browser open tunnels on this computer, by the second link of `berth up`. */
export async function proveLocal(page: Page, data: string): Promise<void> {
  await page.goto(await linkOf(data, /http:\S+#\/sessions\?local=\S+/))
  await page.waitForURL(url => !url.hash.includes('local='))
}

export async function openLaunchDialog(page: Page): Promise<void> {
  await button(page, 'New session').click()
  await page.locator('#launch-section-environment').waitFor()
}

/** Opens a collapsed section of the launch dialog. */
export async function openSection(page: Page, title: string): Promise<void> {
  const heading = page.locator('.fold > h3 > button')
  await heading.filter({ has: page.getByText(title, { exact: true }) }).click()
}

/** Selects the app that the page opens when the session runs; the launch dialog is open. */
export async function chooseToOpen(page: Page, app: string): Promise<void> {
  await page.getByRole('combobox', { name: 'When it runs, open' }).press('ArrowDown')
  await page.getByRole('option', { name: app, exact: true }).click()
}

export async function openApps(page: Page, session: string): Promise<void> {
  await button(page, `Apps of ${session}`).click()
  await page.getByRole('tab', { name: 'Ports and links' }).waitFor()
}

/** The second tab of the dialog of the apps: tunnels, other ports, links for people without an account. */
export async function showPorts(page: Page): Promise<void> {
  await page.getByRole('tab', { name: 'Ports and links' }).click()
  await page.getByRole('heading', { name: 'Open on this computer' }).waitFor()
}

export async function openSsh(page: Page, session: string): Promise<void> {
  await openApps(page, session)
  await page.locator('.tile-button', { hasText: 'SSH' }).click()
  await page.getByText('Private key of this session').waitFor()
}

/** Closes the dialog with this heading. */
export async function leaveDialog(page: Page, heading: string | RegExp): Promise<void> {
  const title = page.getByRole('heading', { name: heading })
  await page.locator('.dialog-head', { has: title }).getByRole('button', { name: 'Close', exact: true }).click()
  await title.waitFor({ state: 'detached' })
}

/** A value of the list that the SSH dialog begins with. */
export async function sshFact(page: Page, name: string): Promise<string> {
  const fact = page.locator('dl.facts > div', { has: page.getByText(name, { exact: true }) })
  return await fact.locator('code').innerText()
}

/** Opens an app with a page, and returns its tab. */
export async function openApp(page: Page, title: RegExp): Promise<Page> {
  const tile = page.locator('.tile-button', { hasText: title })
  const [tab] = await Promise.all([page.context().waitForEvent('page'), tile.click()])
  await tab.waitForURL(/--[a-z2-7]{12}\.localhost:/, { timeout: 90_000 })
  return tab
}

/** Runs one line of Python in a new notebook of JupyterLab, and reads its output. */
export async function runInNotebook(lab: Page, code: string): Promise<string> {
  await lab.locator('.jp-LauncherCard[data-category="Notebook"]').first().click({ timeout: 90_000 })
  // JupyterLab drops commands that are run before its kernel is connected. Its notebook says "idle" even without a kernel; the
  // status bar names the kernel once there is one, and says "Idle" once it has answered.
  await lab.getByText(/^Python 3.*\| Idle$/).waitFor({ timeout: 120_000 })
  const cell = lab.locator('.jp-Notebook .jp-CodeCell').first()
  await cell.locator('.cm-content').click()
  await lab.keyboard.type(code)
  await lab.keyboard.press('Shift+Enter')
  return (await cell.locator('.jp-OutputArea-executeResult pre').innerText({ timeout: 90_000 })).trim()
}

export async function openTerminal(page: Page, session: string): Promise<Page> {
  const [tab] = await Promise.all([page.context().waitForEvent('page'), button(page, `Terminal of ${session}`).click()])
  await atPrompt(tab)
  return tab
}

/** Resolves when a shell is connected and shows its prompt. */
export async function atPrompt(tab: Page): Promise<void> {
  await tab.getByText('Connected').waitFor()
  await screen(tab).filter({ hasText: '$' }).waitFor()
}

export const screen = (tab: Page): Locator => tab.locator('.xterm-rows').first()

export async function typeLine(tab: Page, line: string): Promise<void> {
  await tab.locator('.xterm-helper-textarea').pressSequentially(`${line}\n`)
}
