import { type Directive } from 'vue'

/** How long a dialog may take to become visible, in frames. */
const FRAMES = 60

/**
 * `v-focus` puts the cursor into the first field of what it stands on as soon as that can be seen. Vuetify's own `autofocus` does so
 * some time later and takes the cursor from whoever types already: the rest of their name goes into the address.
 */
export const vFocus: Directive<HTMLElement> = {
  mounted(element) {
    const target = element.matches('input, textarea, button')
      ? element
      : element.querySelector('input, textarea, button')
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
