import { type Locator, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { button } from './console-steps.ts'

/** Time limit for a page that loads, on a busy machine. */
const SOON = { timeout: 120_000 }

/** Links to the pages of administration. */
const links = (page: Page): Locator => page.getByRole('navigation', { name: 'Administration' }).getByRole('link')

/** Goes from one page of administration to another. */
export async function toAdministration(page: Page, name: string): Promise<void> {
  await links(page).filter({ hasText: name }).first().click()
  await page.getByRole('heading', { name, level: 1 }).waitFor()
}

/** Opens each page of administration, and expects that the real manager answers all that it requests. */
export async function expectAllAdministration(page: Page): Promise<void> {
  await links(page).first().waitFor()
  const names = await links(page).allInnerTexts()
  expect(names.length).toBeGreaterThan(16)
  for (const name of names) {
    await toAdministration(page, name)
    await expect.poll(() => page.getByRole('main').getByLabel('Loading').count(), SOON).toBe(0)
    expect(await button(page, 'Try again').count(), name).toBe(0)
  }
}
