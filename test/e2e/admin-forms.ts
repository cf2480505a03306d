import { type Locator, type Page } from 'playwright-core'
import { type RouteName, ROUTES, type RouteSpec } from '#manager/contract'
import { type AdminWorld } from './console-double-admin.ts'
import { type World } from './console-double-world.ts'

/** A form or button of administration as a person uses it, and the request that it sends. `console-admin-forms.test.ts` tries the rows. */
export interface FormRow {
  /** The person's action. */
  readonly title: string
  /** The page below `/admin/`. */
  readonly page: string
  /** Buttons to press before the form is shown, by their labels. */
  readonly open: string | readonly string[]
  readonly fill?: readonly Step[]
  /** The button that sends; left out if the last one of `open`, or the last step on the page, sends at once. */
  readonly submit?: string
  readonly sends: RouteName
  /** Parameters of the path. */
  readonly params?: Readonly<Record<string, string>>
  /** The query as sent, such as `?force=true`. */
  readonly query?: string
  readonly body?: unknown
  /** Bodies with which the form first asks the same route about the effect. */
  readonly asks?: readonly unknown[]
  /** The answer, if the page reads it. */
  readonly reply?: unknown
  /** A text that the page shows after the answer. */
  readonly says: string
  /** World of the page, if it differs from `ADMIN_WORLD`. */
  readonly world?: Partial<Omit<World, 'admin'>>
  readonly admin?: Partial<AdminWorld>
}

/** A step of filling in a form. */
export type Step = (form: Locator, page: Page) => Promise<void>

/** Types into the field with this label. */
export const type =
  (label: string, text: string): Step =>
  form =>
    form.getByLabel(label, { exact: true }).fill(text)

/** Selects from a drop-down list. */
export const choose =
  (label: string, option: string): Step =>
  async (form, page) => {
    const box = form.getByRole('combobox', { name: label })
    await box.press('ArrowDown')
    // A list that was open before may not have gone yet, and have an option of the same name.
    const list = page.locator(`[id="${(await box.getAttribute('aria-controls')) ?? ''}"]`)
    await list.getByRole('option', { name: option, exact: true }).click()
  }

/** Selects one value from a list for several values, which stays open. */
export const chooseSome =
  (label: string, option: string): Step =>
  async (form, page) => {
    await choose(label, option)(form, page)
    await form.getByRole('combobox', { name: label }).press('Tab')
  }

export const check =
  (label: string): Step =>
  form =>
    form.getByLabel(label, { exact: true }).check()

/** Unfolds a part of the form. */
export const unfold =
  (title: string): Step =>
  form =>
    form.locator('summary', { hasText: title }).click()

export const uncheck =
  (label: string): Step =>
  form =>
    form.getByLabel(label, { exact: true }).uncheck()

/** Presses a switch with the keyboard, and waits until it shows the answer. */
export const flip =
  (label: string, on: boolean): Step =>
  async form => {
    await form.getByRole('switch', { name: label, exact: true, checked: !on }).press('Space')
    await form.getByRole('switch', { name: label, exact: true, checked: on }).waitFor()
  }

/** Waits for a text that the form shows before sending. */
export const sees =
  (text: string): Step =>
  form =>
    form.getByText(text, { exact: true }).waitFor()

/** `METHOD path`, as recorded by the double. */
export function requestOf({ sends, params = {} }: Pick<FormRow, 'sends' | 'params'>): string {
  const { method, path } = ROUTES[sends] as RouteSpec
  const filled = path.replace(/:(\w+)/g, (_, name: string) => {
    const value = params[name]
    if (value === undefined) throw new Error(`${sends} needs the parameter ${name}`)
    return encodeURIComponent(value)
  })
  return `${method} ${filled}`
}

/** Fills the form in and sends it. */
export async function useForm(page: Page, { open, fill = [], submit }: FormRow): Promise<void> {
  for (const name of [open].flat()) await page.getByRole('button', { name, exact: true }).click()
  const dialog = page.getByRole('dialog').or(page.getByRole('alertdialog')).last()
  const form = submit === undefined ? page.getByRole('main') : dialog
  for (const step of fill) await step(form, page)
  if (submit !== undefined) await form.getByRole('button', { name: submit, exact: true }).click()
}
