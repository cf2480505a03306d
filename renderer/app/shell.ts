import { type Router } from 'vue-router'

/** Apart from the first page: the sign-in needs none of it. */
export const loadShell = () => import('./AppShell.vue')

/** Loads the shell beside the page that needs it, so that both are there with the same frame and nothing moves. */
export function loadShellWithPages(router: Router): void {
  router.beforeEach(to => {
    // A part that does not arrive is told by the router, with the page.
    if (!to.meta.bare) void loadShell().catch(() => undefined)
  })
  router.beforeResolve(async to => {
    if (!to.meta.bare) await loadShell()
  })
}
