import { type RouteLocationResolved, type Router } from 'vue-router'
import { savesData } from '../ui/data-saver.ts'

let idleLoads = 0

/** Whether a page is being loaded that nobody has requested yet. */
export const isLoadingWhenIdle = () => idleLoads > 0

/** Loads the pages of the navigation, one after the other, while the browser is idle; none if the browser saves data. */
export function loadPagesWhenIdle(router: Router, paths: readonly string[]): void {
  const [path, ...others] = paths
  if (path === undefined || savesData()) return
  requestIdleCallback(() => {
    idleLoads++
    void loadPages([router.resolve(path)]).then(() => {
      idleLoads--
      loadPagesWhenIdle(router, others)
    })
  })
}

/** Loads the files of the pages of these routes. Never rejects: a page that does not load now is loaded again when it is opened. */
export async function loadPages(routes: readonly RouteLocationResolved[]): Promise<void> {
  const lazy = routes.flatMap(({ matched }) => matched).map(({ components }) => components?.['default'])
  const loads = lazy.filter((load): load is () => Promise<unknown> => typeof load === 'function')
  await Promise.allSettled(loads.map(load => load()))
}
