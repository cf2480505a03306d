import { type Router } from 'vue-router'
import { isLoadingWhenIdle } from './load-pages.ts'

const KEY = 'berth.reloaded'
/** A part that fails again within this time was not just lost in transit, so the page is not reloaded a second time. */
const AGAIN_MS = 10_000
/** Pause between two looks for a server that is away, while a page of it is wanted. */
const LOOK_MS = 3_000

/**
 * Reloads the page when one of its modules failed to load, e.g. because Chromium aborts requests in flight when a network interface comes
 * or goes (`ERR_NETWORK_CHANGED`). Browsers remember that failure and never request the module again. A page that failed to load in advance
 * needs no reload: its failure is reported when somebody opens it.
 *
 * If the server is away, a page that somebody wants opens once it is back, unless they go elsewhere before.
 */
export function reloadLostParts(router: Router): void {
  let wanted: string | undefined
  let navigating = false
  let looking = false
  const isWanted = () => wanted !== undefined
  router.beforeEach(() => {
    navigating = true
  })
  router.onError((_error, to) => {
    navigating = false
    wanted = router.resolve(to.fullPath).href
  })
  router.afterEach((_to, _from, failure) => {
    navigating = false
    if (!failure) wanted = undefined
  })
  addEventListener('vite:preloadError', () => {
    if (isLoadingWhenIdle() && !navigating) return
    const before = Number(sessionStorage.getItem(KEY) ?? 0)
    if (Date.now() - before < AGAIN_MS) return
    if (!looking) void reload()
  })

  async function reload(): Promise<void> {
    looking = true
    let isThere = await answers()
    while (!isThere && isWanted()) {
      await new Promise(resolve => setTimeout(resolve, LOOK_MS))
      isThere = isWanted() && (await answers())
    }
    looking = false
    if (!isThere) return
    sessionStorage.setItem(KEY, String(Date.now()))
    if (wanted !== undefined) history.replaceState(null, '', wanted)
    location.reload()
  }
}

/**
 * Whether the server answers. If it does not, the present page is better than a failed reload. The wait also gives the router time to
 * report the failed navigation (`wanted`).
 */
const answers = () =>
  fetch(location.pathname, { method: 'HEAD', cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  )
