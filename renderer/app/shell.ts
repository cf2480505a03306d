import { shallowRef, type Component } from 'vue'
import { type Router } from 'vue-router'

/** Apart from the first page, because the sign-in needs none of it. Null until it has been loaded. */
export const shell = shallowRef<Component | null>(null)

async function loadShell(): Promise<void> {
  shell.value ??= (await import('./AppShell.vue')).default
}

/**
 * Loads the shell beside the page that needs it, so that both are there with the same frame and nothing moves. An async component
 * would come a frame later, even once its file is there.
 */
export function loadShellWithPages(router: Router): void {
  router.beforeEach(to => {
    // A part that does not arrive is told by the router, with the page.
    if (!to.meta.bare) void loadShell().catch(() => undefined)
  })
  router.beforeResolve(async to => {
    if (!to.meta.bare) await loadShell()
  })
}
