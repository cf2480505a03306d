import { shallowRef, type Component } from 'vue'
import { type Router } from 'vue-router'
import { loadPages } from './load-pages.ts'

/** The shell component, null until loaded. A separate chunk, because the sign-in page does not need it. */
export const shell = shallowRef<Component | null>(null)

async function loadShell(): Promise<void> {
  shell.value ??= (await import('./AppShell.vue')).default
}

/**
 * Starts to load the shell and the page of the address before the server has said who is signed in: so their files arrive in parallel with
 * that answer instead of after it. Of the page, only its modules are evaluated. Failures are reported when the page is opened.
 */
export function loadAhead(router: Router): void {
  const route = router.resolve(location.hash.slice(1) || '/summary')
  if (!route.meta.bare) void loadShell().catch(() => undefined)
  void loadPages([route])
}

/**
 * Loads the shell in parallel with the page that needs it, so that both appear in the same frame and nothing shifts. An async
 * component would appear one frame later, even when its file is already loaded.
 */
export function loadShellWithPages(router: Router): void {
  router.beforeEach(to => {
    // If the shell does not load, `beforeResolve` fails as well and the router reports it with the page.
    if (!to.meta.bare) void loadShell().catch(() => undefined)
  })
  router.beforeResolve(async to => {
    if (!to.meta.bare) await loadShell()
  })
}
