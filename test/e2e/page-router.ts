import { type Page } from 'playwright-core'

interface PageRouter {
  push(to: string): Promise<unknown>
  getRoutes(): { readonly path: string }[]
}
interface AppElement extends Element {
  /** Vue stores the app at its element. */
  readonly __vue_app__: { readonly config: { readonly globalProperties: { readonly $router: PageRouter } } }
}

/** Goes to an address of the open console, like a link. Resolves when the new page has replaced the previous one. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(async to => {
    await document.querySelector<AppElement>('#app')?.__vue_app__.config.globalProperties.$router.push(to)
    await new Promise(resolve => requestAnimationFrame(resolve))
  }, path)
}

/** Paths of all routes that the router of the page has now. */
export const routePaths = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const app = document.querySelector<AppElement>('#app')?.__vue_app__
    return app?.config.globalProperties.$router.getRoutes().map(({ path }) => path) ?? []
  })
