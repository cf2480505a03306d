import { watchEffect } from 'vue'
import { type Router } from 'vue-router'
import { type default as en, t } from '../words/en/titles.ts'

/** Names a title in the catalogue `words/<language>/titles.ts`. */
export type PageTitle = keyof typeof en

/** Shows the title of the current page in the browser tab, in the language of the page. A page may set a more precise one. */
export function showPageTitles(router: Router): void {
  watchEffect(() => {
    const { title } = router.currentRoute.value.meta
    const text = typeof title === 'function' ? title() : title && t(title)
    document.title = text ? `${text} · Berth` : 'Berth'
  })
}
