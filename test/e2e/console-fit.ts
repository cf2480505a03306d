import { type Page } from 'playwright-core'
import { SIZES } from '../fixtures/browser.ts'

/** Windows in which the console must fit: a small and a usual phone, two laptops at 200 % zoom, a small laptop. */
export const NARROW = {
  '1024': { width: 1024, height: 768 },
  '720': { width: 720, height: 450 },
  '640': { width: 640, height: 400 },
  '390': { width: 390, height: 844 },
  '320': { width: 320, height: 640 },
} as const

/**
 * Pictures of all scenes, for people: `BERTH_PICTURES=1`. Otherwise fewer scenes and windows, and pictures only of misfits, because `npm
 * test` has a time limit.
 */
export const PICTURES = process.env['BERTH_PICTURES'] === '1'

const WIDE = { '2560': { width: 2560, height: 1440 }, '1920': SIZES.large } as const
/** Further windows that a test tries: without pictures, 200 % zoom and the smallest phone. */
export const WINDOWS = Object.entries({ ...WIDE, ...NARROW }).filter(
  ([window]) => PICTURES || ['720', '320'].includes(window),
)

/**
 * Finds everything that does not fit on the shown page: the page scrolls sideways (WCAG 1.4.10), a control is cut off at the side or covers
 * another one (1.4.4), or is too small to hit (2.5.8: 24 by 24 pixels, except links in text), or a value has too little space beside its
 * name.
 */
async function misfits(page: Page, looks: { findsCuts: boolean; readsCells: boolean }): Promise<string[]> {
  return await page.evaluate(({ findsCuts, readsCells }) => {
    const found: string[] = []
    // A strip of tabs, the text of a log and a wide table may be longer than the window: each has its own scroll bar, usable by keyboard.
    const SCROLLS = '.v-slide-group, .tabs, pre, [role="region"][tabindex="0"]'
    // Without the scroll bar, where it takes room.
    const { clientWidth: room, scrollWidth } = document.documentElement
    if (scrollWidth > room) found.push(`the page is ${scrollWidth} px wide`)

    /** Finds the element that cuts off the right end of a control: an element around it, or the control itself. */
    const cutBy = (control: Element) => {
      const { overflowX, textOverflow } = getComputedStyle(control)
      const ownEnd = control.scrollWidth > control.clientWidth + 1
      if (ownEnd && overflowX === 'hidden' && textOverflow !== 'ellipsis') return control
      const { right } = control.getBoundingClientRect()
      for (let around = control.parentElement; around && around !== document.body; around = around.parentElement) {
        const style = getComputedStyle(around)
        const end = around.getBoundingClientRect().left + around.clientLeft + around.clientWidth
        if (style.overflowX !== 'visible' && right > end + 1) return around
        if (style.position === 'fixed') return undefined
      }
      return undefined
    }
    const nameOf = (element: Element) =>
      `${element.tagName.toLowerCase()} ${element.getAttribute('aria-label') ?? element.textContent.trim().slice(0, 40)}`
    const dialog = [...document.querySelectorAll('.v-overlay--active.v-dialog')].at(-1)
    const controls = [...(dialog ?? document).querySelectorAll('button, a[href], input, [role="tab"]')].filter(
      element =>
        element.checkVisibility({ visibilityProperty: true }) && !element.closest('.sr-only, .skip-link, .v-input'),
    )
    for (const control of controls) {
      const { left, right, width, height } = control.getBoundingClientRect()
      if (width === 0 || control.classList.contains('sr-only')) continue
      if (left < -1 || right > room + 1) {
        if (!control.closest(SCROLLS)) found.push(`${nameOf(control)} ends at ${Math.round(right)} px`)
      }
      const cutter = !findsCuts || control.closest(SCROLLS) ? undefined : cutBy(control)
      if (cutter) found.push(`${nameOf(control)} is cut off by ${cutter.tagName.toLowerCase()} ${cutter.className}`)
      const inText = getComputedStyle(control).display === 'inline'
      const inRow = control.classList.contains('name')
      if (!inText && !inRow && (width < 23.5 || height < 23.5)) {
        found.push(`${nameOf(control)} is only ${Math.round(width)} × ${Math.round(height)} px`)
      }
    }

    // The text of a cell is complete, or ends with an ellipsis.
    for (const cell of dialog || !readsCells ? [] : document.querySelectorAll('td')) {
      const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
      for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        const parent = text.parentElement
        if (!parent?.checkVisibility({ visibilityProperty: true }) || parent.closest('.sr-only')) continue
        const range = document.createRange()
        range.selectNodeContents(text)
        const { right } = range.getBoundingClientRect()
        for (let around: Element | null = parent; around && cell.contains(around); around = around.parentElement) {
          const { overflowX, textOverflow } = getComputedStyle(around)
          if (overflowX === 'visible') continue
          const end = around.getBoundingClientRect().left + around.clientLeft + around.clientWidth
          if (textOverflow !== 'ellipsis' && right > end + 1) found.push(`“${text.textContent}” ends in its cell`)
          break
        }
      }
    }

    // Cards of a list have the same height, whatever they contain.
    for (const row of dialog ? [] : document.querySelectorAll('.cards tr.row')) {
      if (row.scrollHeight > row.clientHeight + 2)
        found.push(`${nameOf(row)} needs ${row.scrollHeight} px of ${row.clientHeight}`)
    }

    // In a list of two columns, a value has space for a word beside its name. A value in a row of its own may be as short as it is.
    for (const value of (dialog ?? document).querySelectorAll('dl > dt + dd')) {
      const [own, name] = [value, value.previousElementSibling].map(one => one?.getBoundingClientRect())
      const isBeside = own && name && value.checkVisibility() && own.left >= name.right
      if (isBeside && own.width < Math.min(100, name.width))
        found.push(`${nameOf(value)} has only ${Math.round(own.width)} px`)
    }

    for (const bar of dialog ? [] : document.querySelectorAll('.v-toolbar__content, .list-bar, .terminal-page .bar')) {
      const inner = bar.getBoundingClientRect()
      const parts = [...bar.querySelectorAll('button, .v-input, [role="tab"], h1')].filter(part =>
        part.checkVisibility(),
      )
      for (const [index, part] of parts.entries()) {
        const a = part.getBoundingClientRect()
        // A strip of tabs may be longer than its bar if it has its own scrolling.
        const strip = part.closest('.v-slide-group__container')
        const scrolls = strip !== null && getComputedStyle(strip).overflowX === 'auto'
        if ((!scrolls && a.right > inner.right + 1) || a.bottom > inner.bottom + 1)
          found.push(`${nameOf(part)} leaves its bar`)
        for (const other of parts.slice(index + 1)) {
          if (part.contains(other)) continue
          const b = other.getBoundingClientRect()
          const across = Math.min(a.right, b.right) - Math.max(a.left, b.left)
          const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)
          if (across > 1 && down > 1 && !part.closest('.v-slide-group') && !part.closest('.tabs')) {
            found.push(`${nameOf(part)} lies over ${nameOf(other)}`)
          }
        }
      }
    }
    return found
  }, looks)
}

/**
 * The page adapts to its new size within some frames: returns what does not fit even after that.
 * @param findsCuts also finds controls whose end is hidden by surrounding elements
 * @param readsCells also finds words whose end is hidden in a table cell
 */
export async function lastingMisfits(page: Page, { findsCuts = false, readsCells = true } = {}): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    const found = await misfits(page, { findsCuts, readsCells })
    if (found.length === 0 || attempt === 20) return found
    await page.waitForTimeout(50)
  }
}
