import { type Page } from 'playwright-core'
import { SIZES } from '../fixtures/browser.ts'

/** Widths at which the console must fit: a small and a usual phone, a desktop at 200 % zoom, a small laptop. */
export const NARROW = {
  '1024': { width: 1024, height: 768 },
  '720': { width: 720, height: 450 },
  '390': { width: 390, height: 844 },
  '320': { width: 320, height: 640 },
} as const

/**
 * Pictures of all scenes, for eyes: `BERTH_PICTURES=1`. Without it, fewer scenes and windows, and pictures only of what does not
 * fit: `npm test` has a time limit.
 */
export const PICTURES = process.env['BERTH_PICTURES'] === '1'

const WIDE = { '2560': { width: 2560, height: 1440 }, '1920': SIZES.large } as const
/** Windows that a test tries, after the usual one: without pictures 200 % zoom and the smallest phone. */
export const WINDOWS = Object.entries({ ...WIDE, ...NARROW }).filter(
  ([window]) => PICTURES || ['720', '320'].includes(window),
)

/**
 * Finds everything that does not fit on the page as shown: it scrolls sideways (WCAG 1.4.10), a control is cut off at the
 * side or lies over another one (1.4.4), or is too small to hit (2.5.8: 24 by 24 pixels, links in text aside).
 */
export async function misfits(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const found: string[] = []
    const scroller = document.scrollingElement
    if (scroller && scroller.scrollWidth > innerWidth) found.push(`the page is ${scroller.scrollWidth} px wide`)

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
      if (left < -1 || right > innerWidth + 1) {
        // A strip of tabs, or the text of a log, may be longer than the window if it scrolls by itself.
        if (!control.closest('.v-slide-group, .tabs, pre'))
          found.push(`${nameOf(control)} ends at ${Math.round(right)} px`)
      }
      const inText = getComputedStyle(control).display === 'inline'
      const inRow = control.classList.contains('name')
      if (!inText && !inRow && (width < 23.5 || height < 23.5)) {
        found.push(`${nameOf(control)} is only ${Math.round(width)} × ${Math.round(height)} px`)
      }
    }

    // Cards of a list have one height, whatever is in them.
    for (const row of dialog ? [] : document.querySelectorAll('.cards tr.row')) {
      if (row.scrollHeight > row.clientHeight + 2)
        found.push(`${nameOf(row)} needs ${row.scrollHeight} px of ${row.clientHeight}`)
    }

    for (const bar of dialog ? [] : document.querySelectorAll('.v-toolbar__content, .list-bar, .terminal-page .bar')) {
      const room = bar.getBoundingClientRect()
      const parts = [...bar.querySelectorAll('button, .v-input, [role="tab"], h1')].filter(part =>
        part.checkVisibility(),
      )
      for (const [index, part] of parts.entries()) {
        const a = part.getBoundingClientRect()
        // A strip of tabs may be longer than its bar where it scrolls by itself.
        const strip = part.closest('.v-slide-group__container')
        const scrolls = strip !== null && getComputedStyle(strip).overflowX === 'auto'
        if ((!scrolls && a.right > room.right + 1) || a.bottom > room.bottom + 1)
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
  })
}

/** The page adapts to its new size within some frames: returns what does not fit even after that. */
export async function lastingMisfits(page: Page): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    const found = await misfits(page)
    if (found.length === 0 || attempt === 20) return found
    await page.waitForTimeout(50)
  }
}
