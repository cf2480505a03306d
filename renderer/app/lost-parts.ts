import { type Router } from 'vue-router'

const KEY = 'berth.reloaded'
/** What is lost again so soon is not lost on the way. */
const AGAIN_MS = 10_000

/**
 * Reloads the page when a part of it did not arrive, as when Chromium gives up what is in flight because a network interface
 * came or went (`ERR_NETWORK_CHANGED`): browsers remember that failure, and never ask for that part again.
 */
export function reloadLostParts(router: Router): void {
  let wanted: string | undefined
  router.onError((_error, to) => {
    wanted = router.resolve(to.fullPath).href
  })
  router.afterEach((_to, _from, failure) => {
    if (!failure) wanted = undefined
  })
  addEventListener('vite:preloadError', () => {
    const before = Number(sessionStorage.getItem(KEY) ?? 0)
    if (Date.now() - before < AGAIN_MS) return
    void answers().then(isThere => {
      if (!isThere) return
      sessionStorage.setItem(KEY, String(Date.now()))
      if (wanted !== undefined) history.replaceState(null, '', wanted)
      location.reload()
    })
  })
}

/** Without its server, a page that is there is better than none. By the answer the router has heard of the loss, too. */
const answers = () =>
  fetch(location.pathname, { method: 'HEAD', cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  )
