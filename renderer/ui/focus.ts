import { onUnmounted, watch, type Directive, type Ref } from 'vue'

/** Largest number of frames that a dialog may take to become visible. */
const FRAMES = 60
const FIELDS = 'input:not([type="hidden"]), textarea, button'

/**
 * `v-focus` focuses the first field of its element as soon as that field is visible. Vuetify's own `autofocus` comes later and can take the
 * focus from a user who is already typing in another field. The attribute `autofocus` of HTML works once per document. `v-focus="false"`
 * does nothing.
 */
export const vFocus: Directive<HTMLElement, boolean | undefined> = {
  mounted(element, { value }) {
    if (value === false) return
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

/** Leads to the first wrong field of a form: focuses it, or scrolls to the text of a fault that belongs to no single field. */
export function showFirstFault(form: HTMLElement | null): void {
  const first = form?.querySelector(
    '[aria-invalid="true"], .v-input--error :is(input, textarea), p:is(.text-error, [role="alert"])',
  )
  if (first instanceof HTMLElement && first.matches(FIELDS)) first.focus()
  else first?.scrollIntoView({ block: 'center' })
}

/** For each open dialog, the element that had the focus before it; the topmost dialog is last. */
const returns: { to: Element | null }[] = []

/** Returns the focus when a dialog closes to the element that had it before: Vuetify does so only for its own activators. */
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
    // Another dialog was opened from this one: the element to which it would return the focus disappears with this dialog, so it gets ours.
    if (above) above.to = mine.to
    else focusIfThere(mine.to)
    mine = undefined
  }

  // Remember before the dialog takes the focus; return it after the dialog has released it.
  watch(open, isOpen => isOpen && remember(), { immediate: true, flush: 'sync' })
  watch(open, isOpen => isOpen || giveBack(), { flush: 'post' })
  onUnmounted(giveBack)
}

/** The focused element. For a menu entry, the button that opened the menu, because the entry disappears with its menu. */
export function focusedNow(): Element | null {
  const focused = document.activeElement
  const menu = focused?.closest('.v-menu')
  return (menu && document.querySelector(`[aria-controls="${menu.id}"]`)) ?? focused
}

export function focusIfThere(element: Element | null): void {
  if (element instanceof HTMLElement && element.isConnected) element.focus({ preventScroll: true })
}
