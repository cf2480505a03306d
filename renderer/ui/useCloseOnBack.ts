import { inject, watch, type Ref } from 'vue'
import { routerKey, type Router } from 'vue-router'

/** Open dialogs, the innermost last. */
const dialogs: object[] = []
/** Keys of the query for the outer dialog, and for the one above it (`useDialogAddress`). */
const KEYS = ['dialog', 'over']
let isOwnStep = false

/** Goes back to leave the URL of a dialog that closes, even if another dialog has opened above it. */
export function stepBack(router: Router): void {
  isOwnStep = true
  const stop = router.afterEach(() => {
    isOwnStep = false
    stop()
  })
  router.back()
}

/**
 * Back closes the innermost dialog. A dialog with a URL closes when its URL is left; for one without, the page stays as it is. Vuetify's
 * own `closeOnBack` misses a Back to a page that was opened by a link or that replaced another one.
 *
 * @param options.persistent Back does not close it either
 * @param options.hasUrl the page itself keeps the dialog in the URL
 */
export function useCloseOnBack(open: Ref<boolean>, options: Readonly<{ persistent: boolean; hasUrl: boolean }>): void {
  const router = inject(routerKey, undefined)
  watch(
    open,
    (isOpen, _before, onCleanup) => {
      if (!isOpen) return
      const me = {}
      dialogs.push(me)
      let goesBack = false
      const stops = [
        router?.options.history.listen((_to, _from, { delta }) => void (goesBack = delta < 0)),
        router?.afterEach(() => void (goesBack = false)),
        router?.beforeEach((_to, from) => {
          const key = KEYS[dialogs.indexOf(me)]
          const hasUrl = options.hasUrl || (key !== undefined && from.query[key] !== undefined)
          if (!goesBack || isOwnStep || hasUrl || dialogs.at(-1) !== me) return true
          if (!options.persistent) open.value = false
          return false
        }),
      ]
      onCleanup(() => {
        dialogs.splice(dialogs.indexOf(me), 1)
        for (const stop of stops) stop?.()
      })
    },
    { immediate: true, flush: 'sync' },
  )
}
