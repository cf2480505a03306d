import { onUnmounted, watch, type Directive, type Ref } from 'vue'

/** How long a dialog may take to become visible, in frames. */
const FRAMES = 60
const FIELDS = 'input:not([type="hidden"]), textarea, button'

/**
 * `v-focus` puts the cursor into the first field of what it stands on as soon as that can be seen. Vuetify's own `autofocus` does so
 * some time later and takes the cursor from whoever types already: the rest of their name goes into the address.
 */
export const vFocus: Directive<HTMLElement> = {
  mounted(element) {
    const target = element.matches(FIELDS) ? element : element.querySelector(FIELDS)
    if (target instanceof HTMLElement) focusWhenVisible(target, document.activeElement, FRAMES)
  },
}

function focusWhenVisible(target: HTMLElement, before: Element | null, frames: number): void {
  target.focus()
  if (document.activeElement === target || frames === 0) return
  requestAnimationFrame(() => {
    const now = document.activeElement
    if (now !== before && now?.matches('input, textarea')) return
    if (target.isConnected) focusWhenVisible(target, before, frames - 1)
  })
}

/** What had the focus before each dialog that is open; the one on top is the last. */
const returns: { to: Element | null }[] = []

/** Gives the focus back, once a dialog closes, to what had it before: Vuetify does so only for an activator of its own. */
export function useFocusReturn(open: Readonly<Ref<boolean>>): void {
  let mine: { to: Element | null } | undefined

  function remember(): void {
    mine = { to: focusedNow() }
    returns.push(mine)
  }
  function giveBack(): void {
    if (!mine) return
    const place = returns.indexOf(mine)
    const above = returns[place + 1]
    returns.splice(place, 1)
    // One dialog followed another: what the second came from goes with the first.
    if (above) above.to = mine.to
    else focusIfThere(mine.to)
    mine = undefined
  }

  // Before the dialog takes the focus, and after it has let go of it.
  watch(open, isOpen => isOpen && remember(), { immediate: true, flush: 'sync' })
  watch(open, isOpen => isOpen || giveBack(), { flush: 'post' })
  onUnmounted(giveBack)
}

/** An entry of a menu goes with its menu: the button that opened that one stays. */
export function focusedNow(): Element | null {
  const focused = document.activeElement
  const menu = focused?.closest('.v-menu')
  return (menu && document.querySelector(`[aria-controls="${menu.id}"]`)) ?? focused
}

export function focusIfThere(element: Element | null): void {
  if (element instanceof HTMLElement && element.isConnected) element.focus({ preventScroll: true })
}
