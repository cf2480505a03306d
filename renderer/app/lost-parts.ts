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
  addEventListener('vite:preloadError', () => {
    const before = Number(sessionStorage.getItem(KEY) ?? 0)
    if (Date.now() - before < AGAIN_MS) return
    sessionStorage.setItem(KEY, String(Date.now()))
    // The router hears of it after this.
    setTimeout(() => {
      if (wanted !== undefined) history.replaceState(null, '', wanted)
      location.reload()
    })
  })
}
